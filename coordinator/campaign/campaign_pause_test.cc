// A campaign is paused and goes on, driven by hand; CampaignSimulationTest has it so under faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/campaign/campaign_state.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two steps of two rollouts; the trainer and the one worker, of two slots, are on hosts of their
// own.
class CampaignPauseTest : public testing::Test {
 protected:
  void Send(Seconds now, CampaignEvent event) {
    for (const Action& action : state_.Handle({std::move(event)}, now)) {
      if (const auto* a = std::get_if<action::Probe>(&action)) {
        probes_[a->service] = a->call;
        trainer_probes_ += a->service == kTrainer ? 1 : 0;
      }
      if (const auto* a = std::get_if<action::PutProblem>(&action)) put_ = a->call;
      if (const auto* a = std::get_if<action::LoadPolicy>(&action)) load_ = a->call;
      if (const auto* a = std::get_if<action::Generate>(&action)) generate_ = a->call;
      if (const auto* a = std::get_if<action::Measure>(&action)) measures_.push_back(a->call);
      if (const auto* a = std::get_if<action::CancelCall>(&action)) cancelled_.push_back(a->call);
      if (const auto* a = std::get_if<action::Update>(&action)) {
        update_ = a->call;
        *response_.mutable_name() = a->request.name();
      }
      if (const auto* a = std::get_if<action::StepDone>(&action)) row_ = a->row;
      if (const auto* a = std::get_if<action::Finish>(&action)) finish_ = a->status;
    }
  }
  void ProbeTrainer(Seconds now) {
    v1::TrainerInfo info;
    info.set_host_id("gpu");
    Send(now, event::TrainerProbed{probes_[kTrainer], info});
  }
  void Load(Seconds now) {
    event::PolicyLoaded loaded{std::exchange(load_, 0)};
    loaded.response.mutable_holder()->set_epoch(1);
    Send(now, loaded);
  }
  void ProbeWorker(Seconds now) {
    v1::WorkerInfo info;
    info.set_hostname("cpu");
    info.set_host_id("cpu");
    info.set_slots(2);
    info.set_cores(8);
    Send(now, event::WorkerProbed{probes_[0], info});
  }
  void Teach(Seconds now) {
    while (put_ != 0) Send(now, event::ProblemKnown{std::exchange(put_, 0), {}});
  }
  // Services are there, and the trainer generates.
  void Begin() {
    Send(0, event::ServiceReady{kTrainer});
    Send(0, event::ServiceReady{0});
    ProbeTrainer(0);
    ProbeWorker(0);
    Teach(0);
    Load(0);
    ASSERT_NE(generate_, 0u);
    Send(0, event::Prompt{generate_, {}});
  }
  void Complete(Seconds now, int sample) {
    v1::Completion completion;
    completion.set_sample(sample);
    completion.set_text(absl::StrCat("```cpp\nint f", sample, "();\n```"));
    Send(now, event::Completion{generate_, completion});
  }
  // All rollouts of the step have come, and are being measured.
  void Generate(Seconds now) {
    Complete(now, 0);
    Complete(now, 1);
    Send(now, event::GenerateEnded{generate_});
    ASSERT_THAT(measures_, SizeIs(2));
  }
  void Answer(Seconds now, uint64_t measure) {
    v1::Verdict verdict;
    verdict.set_outcome(v1::WRONG_ANSWER);
    Send(now, event::VerdictArrived{measure, verdict});
  }
  void TickUntil(Seconds begin, Seconds end) {
    for (Seconds now = begin; now <= end && !state_.finished(); ++now) Send(now, event::Tick{});
  }

  const CampaignPlan plan_ =
      MakeTestPlan({.steps = 2, .warmup = 0, .group_size = 2, .prompts_per_step = 1});
  CampaignState state_{&plan_, {"worker a"}};
  std::map<int, uint64_t> probes_;
  int trainer_probes_ = 0;
  uint64_t put_ = 0, load_ = 0, generate_ = 0, update_ = 0;
  std::vector<uint64_t> measures_;
  std::vector<uint64_t> cancelled_;
  v1::UpdateResponse response_;
  std::map<std::string, double> row_;
  absl::Status finish_;
};

TEST_F(CampaignPauseTest, WhatRunsEndsNothingBeginsAndItGoesOnWhereItWas) {
  Begin();
  Complete(1, 0);
  Send(2, event::Pause{});
  EXPECT_THAT(state_.Running(),
              ElementsAre("Trainer.Generate step 1", "verdict of 1/0/0 from worker a"));
  Complete(3, 1);
  Send(3, event::GenerateEnded{generate_});
  EXPECT_THAT(measures_, SizeIs(1)) << "the second one waits";
  ASSERT_FALSE(measures_.empty());
  Answer(4, measures_[0]);
  const StepRecord& step = state_.durable().open_steps().front();
  EXPECT_EQ(step.rollouts, 2);
  EXPECT_EQ(step.verdicts, 1);
  EXPECT_THAT(state_.Running(), IsEmpty());
  const int probes = trainer_probes_;
  TickUntil(5, 399);
  EXPECT_FALSE(state_.finished());
  EXPECT_GE(trainer_probes_ - probes, 300 / static_cast<int>(kSignOfLife)) << "signs of life";
  EXPECT_EQ(state_.StatusLine(399),
            "paused; step 1: 2/2 completions, 1 verdicts; 397 s waiting for whet unpause");
  Send(399, event::Pause{});
  EXPECT_THAT(state_.StatusLine(399), HasSubstr("397 s waiting")) << "asked twice";
  EXPECT_THAT(measures_, SizeIs(1));

  Send(400, event::Unpause{});
  ASSERT_THAT(measures_, SizeIs(2));
  Answer(401, measures_[1]);
  ASSERT_NE(update_, 0u);
  Send(403, event::UpdateDone{update_, response_});
  EXPECT_DOUBLE_EQ(row_["time/step"], 403 - (400 - 4)) << "without the pause, once all was quiet";
  EXPECT_DOUBLE_EQ(row_["time/generate"], 3);
  EXPECT_DOUBLE_EQ(row_["time/wait_verdicts"], 2);
  EXPECT_DOUBLE_EQ(row_["time/wait_services"], 0);
  EXPECT_DOUBLE_EQ(row_["time/prepare"], 0);
}

TEST_F(CampaignPauseTest, AnUpdateThatRunsEndsAndIsTheLast) {
  Begin();
  Generate(1);
  Answer(2, measures_[0]);
  Answer(2, measures_[1]);
  ASSERT_NE(update_, 0u);
  Send(3, event::Pause{});
  const uint64_t generated = generate_;
  Send(5, event::UpdateDone{update_, response_});
  EXPECT_EQ(state_.durable().position(), 1);
  EXPECT_DOUBLE_EQ(row_["time/step"], 5);
  TickUntil(6, 60);
  EXPECT_EQ(generate_, generated) << "the next step does not begin";
  Send(60, event::Unpause{});
  EXPECT_NE(generate_, generated);
}

TEST_F(CampaignPauseTest, PatienceWithTheTrainerStandsStill) {
  Begin();
  Generate(1);
  Send(1, event::ServiceLost{kTrainer, "its host is being serviced"});
  TickUntil(2, 100);
  Send(101, event::Pause{});
  Answer(102, measures_[0]);
  Answer(102, measures_[1]);
  TickUntil(103, 4999);
  ASSERT_FALSE(state_.finished()) << finish_;
  Send(5001, event::Unpause{});
  TickUntil(5002, 5080);
  ASSERT_FALSE(state_.finished()) << "a hundred of its 180 seconds were over";
  TickUntil(5081, 5082);
  EXPECT_EQ(finish_.message(),
            "the trainer has not answered for 180 s: its host is being serviced");
}

TEST_F(CampaignPauseTest, PatienceWithWorkersStandsStill) {
  Begin();
  Generate(1);
  Send(1, event::ServiceLost{0, "its host is being serviced"});
  TickUntil(2, 100);
  Send(101, event::Pause{});
  TickUntil(102, 4999);
  ASSERT_FALSE(state_.finished()) << finish_;
  Send(5001, event::Unpause{});
  TickUntil(5002, 5080);
  ASSERT_FALSE(state_.finished()) << "a hundred of its 180 seconds were over";
  TickUntil(5081, 5082);
  EXPECT_EQ(finish_.message(),
            "no worker has been reachable for 180 s: its host is being serviced");
}

TEST_F(CampaignPauseTest, PatienceWithMeasuringStandsStill) {
  Begin();
  Generate(1);
  Send(2, event::CallFailed{measures_[0], absl::InternalError("the disk is full")});
  TickUntil(3, 99);
  Send(100, event::Pause{});
  TickUntil(101, 4999);
  ASSERT_FALSE(state_.finished()) << finish_;
  Send(5000, event::Unpause{});
  TickUntil(5001, 5700);
  ASSERT_FALSE(state_.finished()) << "a hundred of its 900 seconds were over";
  TickUntil(5701, 5900);
  EXPECT_THAT(std::string(finish_.message()),
              HasSubstr("for 900 s (patience.measuring_s) no worker could measure anything"));
}

TEST_F(CampaignPauseTest, ATrainerThatForgotIsHeldAgainAndAskedNothingElse) {
  Begin();
  Complete(1, 0);
  Send(2, event::Pause{});
  const uint64_t generated = generate_;
  Send(3, event::ServiceLost{kTrainer, "started again"});
  Send(4, event::ServiceReady{kTrainer});
  ProbeTrainer(5);
  ASSERT_NE(load_, 0u);
  EXPECT_THAT(state_.Running(), testing::Contains("Trainer.LoadCheckpoint /model"));
  Load(6);
  TickUntil(7, 60);
  EXPECT_EQ(generate_, generated) << "the rest of the step waits";
  Send(60, event::Unpause{});
  EXPECT_NE(generate_, generated);
}

TEST_F(CampaignPauseTest, AWorkerThatComesIsNotTaughtYet) {
  Begin();
  Send(2, event::Pause{});
  Send(3, event::WorkerJoined{1, "worker b"});
  Send(3, event::ServiceLost{0, "started again"});
  Send(4, event::ServiceReady{0});
  ProbeWorker(5);
  TickUntil(6, 60);
  EXPECT_EQ(put_, 0u);
  EXPECT_EQ(state_.Workers(60)[0].state(), v1::WorkerStatus::UP) << "but it is there";
  Send(60, event::Unpause{});
  EXPECT_NE(put_, 0u);
}

TEST_F(CampaignPauseTest, StopEndsItAtOnce) {
  Begin();
  Complete(1, 0);
  Send(2, event::Pause{});
  Send(3, event::Stop{});
  EXPECT_TRUE(state_.finished());
  EXPECT_TRUE(absl::IsCancelled(finish_));
  EXPECT_THAT(std::string(finish_.message()), HasSubstr("of step 1 it keeps 1 rollout(s)"));
  EXPECT_THAT(cancelled_, testing::IsSupersetOf({generate_, measures_[0]}));
}

}  // namespace
}  // namespace whetstone
