// The shell with real threads and a real journal, and clients that answer at once.
#include "coordinator/loop/campaign_loop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/campaign/ledger.h"
#include "coordinator/rpc/echo_services.h"

namespace whetstone {
namespace {

class CampaignLoopTest : public testing::Test {
 protected:
  CampaignLoopTest() : world_({.seed = 1, .faults = 0, .steps = 5, .warmup = 2}) {
    journal_ = *Journal::Create(folder_.path() + "/journal.db", world_.plan().campaign_id);
    hooks_.trainer = &trainer_;
    hooks_.workers = {&worker_};
    hooks_.journal = journal_.get();
    hooks_.clock = &clock_;
    hooks_.on_step = [this](const action::StepDone& done) {
      lines_.push_back(done.line);
      return absl::OkStatus();
    };
    hooks_.on_leader = [this](const LeaderFact& leader) {
      leaders_.push_back(leader.problem_id);
      return absl::OkStatus();
    };
  }
  absl::Status Run(CampaignState* state) {
    CampaignLoop loop(&world_.plan(), hooks_);
    loop.Post(event::ServiceReady{kTrainer});
    loop.Post(event::ServiceReady{0});
    loop_ = &loop;
    return loop.Run(state);
  }

  TempDir folder_ = *TempDir::Make("loop");
  World world_;  // for its plan
  EchoTrainer trainer_;
  EchoWorker worker_;
  SteadyClock clock_;
  std::unique_ptr<Journal> journal_;
  LoopHooks hooks_;
  CampaignLoop* loop_ = nullptr;
  std::vector<std::string> lines_;
  std::vector<std::string> leaders_;
};

TEST(BuildLoad, TellsTheTrainerHowToLearn) {
  CampaignPlan plan;
  plan.campaign_id = "c";
  v1::TrainConfig& train = *plan.campaign.mutable_train();
  train.set_optimizer_state("8bit");
  train.set_activation_checkpointing("full");
  train.set_token_budget(700);
  train.set_sharding("optimizer");
  train.mutable_lora()->set_rank(4);
  train.mutable_lora()->set_alpha(8);
  train.mutable_lora()->add_targets("v_proj");
  plan.campaign.mutable_chat()->set_thinking("off");
  plan.campaign.mutable_chat()->set_date("1 May 2026");
  const v1::LoadCheckpointRequest request = BuildLoad(plan, "dir");
  EXPECT_EQ(request.path(), "dir");
  EXPECT_EQ(request.campaign_id(), "c");
  EXPECT_EQ(request.learner().optimizer_state(), "8bit");
  EXPECT_EQ(request.learner().activation_checkpointing(), "full");
  EXPECT_EQ(request.learner().token_budget(), 700);
  EXPECT_EQ(request.learner().sharding(), "optimizer");
  EXPECT_EQ(request.learner().lora().rank(), 4);
  EXPECT_EQ(request.learner().lora().alpha(), 8);
  EXPECT_EQ(request.learner().lora().targets(0), "v_proj");
  EXPECT_EQ(request.chat().thinking(), "off");
  EXPECT_EQ(request.chat().date(), "1 May 2026");
}

TEST_F(CampaignLoopTest, RunsACampaignAndJournalsIt) {
  CampaignState state(&world_.plan(), {"worker"});
  const absl::Status status = Run(&state);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(lines_.size(), 7u);
  std::sort(leaders_.begin(), leaders_.end());  // the two are measured side by side
  EXPECT_EQ(leaders_, (std::vector<std::string>{"a", "b"})) << "2x once each, then never faster";
  Ledger replayed(&world_.plan());
  ASSERT_TRUE(journal_
                  ->ForEach([&](const Fact& fact) {
                    replayed.Apply(fact);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(replayed.Fingerprint(), state.ledger().Fingerprint());
  EXPECT_TRUE(replayed.done());
}

TEST_F(CampaignLoopTest, AFullDiskEndsItAndResumeGoesOn) {
  ASSERT_TRUE(journal_->TEST_LimitPages(1).ok());
  {
    CampaignState state(&world_.plan(), {"worker"});
    EXPECT_EQ(Run(&state).code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_LT(lines_.size(), 7u);
  ASSERT_TRUE(journal_->TEST_LimitPages(1 << 20).ok());
  CampaignState state(&world_.plan(), {"worker"});
  Ledger ledger(&world_.plan());
  ASSERT_TRUE(journal_
                  ->ForEach([&](const Fact& fact) {
                    ledger.Apply(fact);
                    return absl::OkStatus();
                  })
                  .ok());
  state.Restore(std::move(ledger));
  const absl::Status status = Run(&state);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(state.ledger().done());
}

TEST_F(CampaignLoopTest, StopCancelsWhatIsInFlight) {
  trainer_.hang_ = true;
  CampaignState state(&world_.plan(), {"worker"});
  std::thread operator_thread([this] {
    while (!trainer_.hanging_) std::this_thread::yield();
    loop_->Post(event::Stop{});
  });
  const absl::Status status = Run(&state);
  operator_thread.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(status.message(), "stopped after warm-up 2");
}

}  // namespace
}  // namespace whetstone
