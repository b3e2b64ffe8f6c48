// The shell has real threads and a real journal here, and clients that answer at once.
#include "coordinator/loop/campaign_loop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/durable/durable_state.h"
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
    hooks_.on_step = [this](const action::StepDone& done, int64_t time_us) {
      times_us_.push_back(time_us);
      lines_.push_back(done.line);
      return absl::OkStatus();
    };
    hooks_.on_incumbent = [this](const IncumbentEntry& incumbent) {
      incumbents_.push_back(incumbent.problem_id);
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
  World world_;  // it gives the plan
  EchoTrainer trainer_;
  EchoWorker worker_;
  SteadyClock clock_;
  std::unique_ptr<Journal> journal_;
  LoopHooks hooks_;
  CampaignLoop* loop_ = nullptr;
  std::vector<std::string> lines_;
  std::vector<int64_t> times_us_;
  std::vector<std::string> incumbents_;
};

TEST_F(CampaignLoopTest, RunsACampaignAndJournalsIt) {
  CampaignState state(&world_.plan(), {"worker"});
  const absl::Status status = Run(&state);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(lines_.size(), 7u);
  std::sort(incumbents_.begin(), incumbents_.end());  // the two are measured side by side
  EXPECT_EQ(incumbents_, (std::vector<std::string>{"a", "b"})) << "2x once each, then never faster";
  DurableState replayed(&world_.plan());
  ASSERT_TRUE(journal_
                  ->ForEach([&](const JournalEntry& entry) {
                    replayed.Apply(entry);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(replayed.Fingerprint(), state.durable().Fingerprint());
  EXPECT_TRUE(replayed.done());
}

TEST_F(CampaignLoopTest, WritesSnapshotsAndTellsTheTimeOfEachUpdate) {
  journal_->TEST_SetSnapshotEvery(8);
  int64_t time_us = 1000;
  hooks_.wall_time_us = [&] { return ++time_us; };
  CampaignState state(&world_.plan(), {"worker"});
  ASSERT_TRUE(Run(&state).ok());
  EXPECT_FALSE(journal_->SnapshotDue()) << "the last update brought one";
  const absl::StatusOr<DurableState> restored = journal_->Restore(world_.plan());
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->Fingerprint(), state.durable().Fingerprint());
  std::vector<int64_t> journaled;
  ASSERT_TRUE(
      journal_->ForEachRow([&](const MetricsRow& row) { journaled.push_back(*row.time_us); }).ok());
  EXPECT_EQ(journaled, times_us_);
  EXPECT_EQ(journaled.size(), 7u);
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
  state.Restore(*journal_->Restore(world_.plan()));
  const absl::Status status = Run(&state);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(state.durable().done());
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
