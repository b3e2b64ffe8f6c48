// Workers come and go here, driven by hand; CampaignSimulationTest has them do so under faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/campaign/campaign_state.h"
#include "coordinator/campaign/deadlines.h"

namespace whetstone {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One group of four different programs waits to be measured; each worker has one slot.
class CampaignMembersTest : public testing::Test {
 protected:
  CampaignMembersTest() {
    DurableState durable(&world_.plan());
    durable.Apply(PromptEntry{1, {}});
    for (int sample = 0; sample < 4; ++sample) {
      RolloutEntry rollout;
      rollout.step = 1;
      rollout.completion.set_sample(sample);
      rollout.completion.set_text(absl::StrCat("```cpp\nint f", sample, "();\n```"));
      durable.Apply(rollout);
    }
    state_.Restore(std::move(durable));
  }

  void Send(CampaignEvent event) {
    left_.clear();
    cancelled_.clear();
    asked_.clear();
    for (const Action& action : state_.Handle({std::move(event)}, now_)) {
      if (const auto* a = std::get_if<action::Probe>(&action)) probe_ = *a;
      if (const auto* a = std::get_if<action::PutProblem>(&action)) put_ = *a;
      if (const auto* a = std::get_if<action::WorkerLeft>(&action)) left_.push_back(a->worker);
      if (const auto* a = std::get_if<action::CancelCall>(&action)) cancelled_.push_back(a->call);
      if (const auto* a = std::get_if<action::Finish>(&action)) finish_ = a->status;
      if (const auto* a = std::get_if<action::Measure>(&action)) {
        asked_.push_back(a->worker);
        measures_.push_back(*a);
      }
    }
  }
  // The worker is there, and knows the problem.
  void Ready(int worker) {
    Send(event::ServiceReady{worker});
    ASSERT_EQ(probe_.service, worker);
    v1::WorkerInfo info;
    info.set_hostname(absl::StrCat("h", worker));
    info.set_host_id(absl::StrCat("id", worker));
    info.set_cpu_model("model");
    info.set_slots(1);
    Send(event::WorkerProbed{probe_.call, info});
    ASSERT_EQ(put_.worker, worker);
    Send(event::ProblemKnown{put_.call, {}});
  }
  void Answer(const action::Measure& measure) {
    v1::Verdict verdict;
    verdict.set_outcome(v1::WRONG_ANSWER);
    Send(event::VerdictArrived{measure.call, verdict});
  }
  v1::WorkerStatus StatusOf(int worker) const {
    return state_.Workers(now_)[static_cast<size_t>(worker)];
  }

  World world_{WorldOptions{.seed = 1, .steps = 2, .warmup = 0, .prompts_per_step = 1}};
  CampaignState state_{&world_.plan(), {"worker a", "worker b"}};
  Seconds now_ = 0;
  action::Probe probe_;
  action::PutProblem put_;
  std::vector<action::Measure> measures_;
  absl::Status finish_;
  // These three are of the last event.
  std::vector<int> left_;
  std::vector<int> asked_;
  std::vector<uint64_t> cancelled_;
};

TEST_F(CampaignMembersTest, ATrainerSharesCoresWithWhatASlotKeepsIdle) {
  v1::TrainerInfo trainer;
  trainer.set_host_id("host");
  trainer.set_threads(2);
  Send(event::ServiceReady{kTrainer});
  Send(event::TrainerProbed{probe_.call, trainer});  // it loads its policy
  // A worker on the same host of four cores: is it asked to measure meanwhile?
  const auto is_asked = [&](int worker, const std::vector<int>& slot_cores) {
    v1::WorkerInfo info;
    info.set_host_id("host");
    info.set_cores(4);
    info.set_slots(1);
    info.mutable_slot_cores()->Assign(slot_cores.begin(), slot_cores.end());
    put_.worker = -1;
    Send(event::ServiceReady{worker});
    Send(event::WorkerProbed{probe_.call, info});
    return put_.worker == worker;
  };
  EXPECT_TRUE(is_asked(0, {0, 1}));
  EXPECT_FALSE(is_asked(1, {0, 1, 3})) << "3 is the other hyper-thread of the kernel's core";
}

TEST_F(CampaignMembersTest, ADrainingWorkerEndsItsWorkAndLeaves) {
  Ready(0);
  Ready(1);
  ASSERT_EQ(measures_.size(), 2u);
  Send(event::DrainWorker{0});
  EXPECT_THAT(cancelled_, testing::Not(Contains(measures_[0].call))) << "its measurement goes on";
  EXPECT_EQ(StatusOf(0).state(), v1::WorkerStatus::DRAINING);
  EXPECT_EQ(StatusOf(0).in_flight(), 1);
  Answer(measures_[1]);
  EXPECT_THAT(asked_, ElementsAre(1));
  Send(event::DrainWorker{0});
  EXPECT_THAT(left_, IsEmpty()) << "asked twice, it still works";
  now_ = 5;
  Answer(measures_[0]);
  EXPECT_THAT(left_, ElementsAre(0));
  EXPECT_THAT(asked_, IsEmpty()) << "the other one is busy";
  EXPECT_EQ(StatusOf(0).state(), v1::WorkerStatus::GONE);
  EXPECT_EQ(StatusOf(0).why(), "drained");
  EXPECT_EQ(StatusOf(0).verdicts(), 1);
  EXPECT_EQ(StatusOf(1).last_heard_s(), 5);
  Send(event::ServiceReady{0});
  Send(event::ServiceLost{0, "its tunnel was closed"});
  EXPECT_EQ(StatusOf(0).why(), "drained") << "what is heard of it later says nothing";
}

TEST_F(CampaignMembersTest, AnIdleWorkerLeavesAtOnce) {
  Ready(0);
  Send(event::ServiceReady{1});
  Send(event::DrainWorker{1});
  EXPECT_THAT(left_, ElementsAre(1)) << "nothing had been asked of it but what it is";
  EXPECT_THAT(cancelled_, ElementsAre(probe_.call));
}

TEST_F(CampaignMembersTest, ADrainingWorkerThatIsLostLeavesToo) {
  Ready(0);
  Send(event::DrainWorker{0});
  Send(event::ServiceLost{0, "broke"});
  EXPECT_THAT(left_, ElementsAre(0));
}

TEST_F(CampaignMembersTest, WhatARemovedWorkerMeasuresIsAskedOfAnother) {
  Ready(0);
  Send(event::RemoveWorker{0});
  EXPECT_THAT(left_, ElementsAre(0));
  EXPECT_THAT(cancelled_, Contains(measures_[0].call));
  Ready(1);
  ASSERT_EQ(measures_.size(), 2u);
  EXPECT_EQ(measures_[1].worker, 1);
  EXPECT_EQ(measures_[1].request.candidate_id(), measures_[0].request.candidate_id())
      << "no failure of the candidate's";
  Answer(measures_[0]);
  EXPECT_EQ(state_.durable().FindStep(1)->verdicts, 0) << "what it says now counts no more";
  Answer(measures_[1]);
  EXPECT_EQ(state_.durable().FindStep(1)->verdicts, 1);
  Send(event::RemoveWorker{0});
  EXPECT_THAT(left_, IsEmpty());
}

TEST_F(CampaignMembersTest, AWorkerThatJoinsGetsWork) {
  Ready(0);
  Send(event::WorkerJoined{2, "worker c"});
  EXPECT_EQ(StatusOf(2).name(), "worker c");
  EXPECT_EQ(StatusOf(2).state(), v1::WorkerStatus::CONNECTING);
  EXPECT_LT(StatusOf(2).last_heard_s(), 0);
  Ready(2);
  EXPECT_THAT(asked_, ElementsAre(2));
  EXPECT_EQ(StatusOf(2).state(), v1::WorkerStatus::UP);
  EXPECT_EQ(StatusOf(2).hostname(), "h2");
  EXPECT_EQ(StatusOf(2).slots(), 1);
}

TEST_F(CampaignMembersTest, TheStatusSaysWhyAWorkerGetsNothing) {
  Ready(0);
  Send(event::ServiceLost{0, "host cpu07 is unreachable"});
  EXPECT_EQ(StatusOf(0).state(), v1::WorkerStatus::DOWN);
  EXPECT_EQ(StatusOf(0).why(), "host cpu07 is unreachable");
  measures_.clear();
  Ready(1);
  for (int i = 0; i < Dispatcher::kBreakerFailures; ++i) {
    Send(event::CallFailed{measures_.back().call, absl::InternalError("no memory")});
  }
  EXPECT_EQ(StatusOf(1).state(), v1::WorkerStatus::RESTING);
  EXPECT_EQ(StatusOf(1).why(), "failed several times in a row, is tried again in 2 s: no memory");
}

TEST_F(CampaignMembersTest, AWorkerThatIsGoneDoesNotHideWhyTheCampaignEnds) {
  Send(event::ServiceReady{kTrainer});
  Send(event::TrainerProbed{probe_.call, {}});
  Send(event::ServiceFailed{0, "its host key has changed"});
  Send(event::ServiceFailed{kTrainer, "no memory for the model"});
  EXPECT_EQ(finish_.message(), "the trainer is gone: no memory for the model");
}

TEST_F(CampaignMembersTest, WithoutAnyTheCampaignWaitsForOneAndSaysSo) {
  Send(event::RemoveWorker{0});
  Send(event::RemoveWorker{1});
  ASSERT_FALSE(state_.finished());
  const std::vector<Wait> waits = state_.Waits();
  EXPECT_TRUE(std::any_of(waits.begin(), waits.end(),
                          [](const Wait& wait) { return wait.name == "a worker"; }));
  Send(event::ServiceReady{kTrainer});  // its absence would end the campaign as well
  Send(event::TrainerProbed{probe_.call, {}});
  now_ = 180;
  Send(event::Tick{});
  EXPECT_TRUE(state_.finished());
  EXPECT_THAT(std::string(finish_.message()), HasSubstr("whet workers RUN add"));
}

}  // namespace
}  // namespace whetstone
