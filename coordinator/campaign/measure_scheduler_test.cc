#include "coordinator/campaign/measure_scheduler.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

v1::Verdict Correct(double speedup) {
  v1::Verdict verdict;
  verdict.set_outcome(v1::CORRECT);
  verdict.set_timed(true);
  verdict.set_speedup(speedup);
  verdict.set_speedup_low(speedup * 0.99);
  return verdict;
}

// The plan is one step of one group of four rollouts; two workers of one slot know the problem.
class MeasureSchedulerTest : public testing::Test {
 protected:
  MeasureSchedulerTest() : plan_(MakeTestPlan({.steps = 1, .warmup = 0, .prompts_per_step = 1})) {
    v1::TrainerInfo trainer;
    trainer.set_host_id("t");
    members_.SetTrainer(trainer);
    measuring_.OpenSteps();
  }

  void Arrive(int worker) {
    members_.On(event::ServiceReady{worker});
    // The rounds are the probe and two problems.
    for (int round = 0; round < 3; ++round) {
      members_.Schedule(false);
      for (const Action& action : context_.TakeActions()) {
        if (const auto* probe = std::get_if<action::Probe>(&action)) {
          v1::WorkerInfo info;
          info.set_host_id(absl::StrCat("h", worker));
          info.set_slots(1);
          info.set_cores(4);
          members_.On(event::WorkerProbed{probe->call, info});
        }
        if (const auto* put = std::get_if<action::PutProblem>(&action)) {
          members_.On(event::ProblemKnown{put->call, {}});
        }
      }
    }
    context_.TakeActions();
  }
  void Rollout(int sample, const std::string& source) {
    RolloutEntry rollout;
    rollout.step = 1;
    rollout.completion.set_sample(sample);
    rollout.completion.set_text(source.empty() ? "no code"
                                               : absl::StrCat("```cpp\n", source, "\n```"));
    context_.Record(rollout);
    measuring_.AddCandidate(1, 0, sample);
  }
  // The step's other rollouts are there, and each was right.
  void MeasureTheRest() {
    context_.Record(PromptEntry{1, {}});
    for (int sample = 1; sample < 4; ++sample) {
      Rollout(sample, absl::StrCat("int g", sample, "();"));
      for (const action::Measure& asked : Asked()) {
        measuring_.On(event::VerdictArrived{asked.call, Correct(1)});
      }
    }
  }
  // Returns what is asked of the workers now.
  std::vector<action::Measure> Asked() {
    measuring_.Schedule(/*trainer_computes=*/false);
    std::vector<action::Measure> asked;
    for (Action& action : context_.TakeActions()) {
      if (auto* m = std::get_if<action::Measure>(&action)) asked.push_back(std::move(*m));
    }
    return asked;
  }
  const std::optional<VerdictEntry>& VerdictOf(int sample) const {
    return context_.durable()
        .open_steps()
        .front()
        .groups[0]
        .samples[static_cast<size_t>(sample)]
        .verdict;
  }

  const CampaignPlan plan_;
  CampaignContext context_{&plan_};
  Membership members_{&context_, {"worker 0", "worker 1"}};
  MeasureScheduler measuring_{&context_, &members_};
};

TEST_F(MeasureSchedulerTest, RolloutsOfOneTextShareAMeasurementAndCodeIsNeeded) {
  Arrive(0);
  Rollout(0, "int f();");
  Rollout(1, "int f();");
  Rollout(2, "");
  EXPECT_EQ(VerdictOf(2)->verdict.outcome(), v1::NO_CODE) << "which needs no worker";
  const std::vector<action::Measure> asked = Asked();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].request.candidate_id(), "sim-1/1/0/0");
  measuring_.On(event::VerdictArrived{asked[0].call, Correct(1)});
  EXPECT_FALSE(VerdictOf(0)->verdict.cached());
  EXPECT_TRUE(VerdictOf(1)->verdict.cached());
  Rollout(3, "int f();");
  EXPECT_TRUE(VerdictOf(3)->verdict.cached()) << "also one that comes later";
}

TEST_F(MeasureSchedulerTest, ASuspectProgramIsShownWithItsSource) {
  Arrive(0);
  Rollout(0, "int f();");
  v1::Verdict suspect = Correct(90);
  suspect.set_outcome(v1::SUSPECT);
  const std::vector<action::Measure> asked = Asked();
  ASSERT_EQ(asked.size(), 1u);
  measuring_.On(event::VerdictArrived{asked[0].call, suspect});
  std::vector<action::Suspect> shown;
  for (Action& action : context_.TakeActions()) {
    if (auto* a = std::get_if<action::Suspect>(&action)) shown.push_back(std::move(*a));
  }
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0].source, "int f();\n");
  EXPECT_EQ(shown[0].entry.verdict.candidate_id(), "sim-1/1/0/0");
  EXPECT_FALSE(VerdictOf(0)->dropped);
  EXPECT_EQ(VerdictOf(0)->reward, plan_.campaign.reward().wrong_base());
}

TEST_F(MeasureSchedulerTest, AFailedAttemptIsTriedElsewhereAndThenGivenUp) {
  Arrive(0);
  Arrive(1);
  MeasureTheRest();
  Rollout(0, "int f();");
  int last = -1;
  for (int attempt = 1; attempt <= MeasureScheduler::kAttemptsMax; ++attempt) {
    const std::vector<action::Measure> asked = Asked();
    ASSERT_EQ(asked.size(), 1u) << attempt;
    EXPECT_NE(asked[0].worker, last);
    last = asked[0].worker;
    measuring_.On(event::CallFailed{asked[0].call, absl::InternalError("no memory")});
  }
  Asked();
  ASSERT_TRUE(VerdictOf(0).has_value());
  EXPECT_TRUE(VerdictOf(0)->dropped);
  EXPECT_EQ(VerdictOf(0)->verdict.detail(), "given up after 4 attempts; the last: no memory");
}

TEST_F(MeasureSchedulerTest, AProgramThatEndsItsWorkersIsGivenUp) {
  Arrive(0);
  Arrive(1);
  MeasureTheRest();
  Rollout(0, "int f();");
  for (int loss = 1; loss <= MeasureScheduler::kWorkerLossesMax; ++loss) {
    const std::vector<action::Measure> asked = Asked();
    ASSERT_EQ(asked.size(), 1u) << loss;
    const auto lost = members_.On(event::ServiceLost{asked[0].worker, "connection reset"});
    measuring_.WorkerLost(*lost);
  }
  Asked();
  ASSERT_TRUE(VerdictOf(0).has_value());
  EXPECT_EQ(VerdictOf(0)->verdict.detail(),
            "2 workers were lost while they measured it, the last: connection reset");
}

TEST_F(MeasureSchedulerTest, AVerdictWithoutASpeedupThatCanBeIsAskedForAgain) {
  Arrive(0);
  MeasureTheRest();
  Rollout(0, "int f();");
  Seconds now = 0;
  for (int attempt = 0; attempt < MeasureScheduler::kAttemptsMax; ++attempt) {
    EXPECT_FALSE(VerdictOf(0).has_value());
    const std::vector<action::Measure> asked = Asked();
    ASSERT_EQ(asked.size(), 1u) << attempt;
    measuring_.On(event::VerdictArrived{asked[0].call, Correct(attempt % 2 == 0 ? 0 : NAN)});
    context_.set_now(now += Dispatcher::kBreakerRestMax);
  }
  Asked();
  ASSERT_TRUE(VerdictOf(0).has_value());
  EXPECT_EQ(VerdictOf(0)->verdict.outcome(), v1::INFRASTRUCTURE_ERROR);
}

TEST_F(MeasureSchedulerTest, AVerdictFromAnAttemptThatWasGivenUpStillCounts) {
  Arrive(0);
  Rollout(0, "int f();");
  const uint64_t call = Asked()[0].call;
  context_.set_now(MeasureDeadline(plan_.problems[0].problem));
  measuring_.CheckAttempts();
  EXPECT_EQ(members_.last_error(0), "worker 0 gave no verdict in 150 s");
  measuring_.On(event::VerdictArrived{call, Correct(1)});
  EXPECT_TRUE(VerdictOf(0).has_value());
}

TEST_F(MeasureSchedulerTest, AStragglerIsTriedOnAnIdleWorkerBesides) {
  Arrive(0);
  Rollout(0, "int f();");
  const std::vector<action::Measure> first = Asked();
  Arrive(1);
  measuring_.Hedge(false);
  EXPECT_TRUE(context_.TakeActions().empty()) << "it has just begun";
  context_.set_now(MeasureDeadline(plan_.problems[0].problem) / 2);
  measuring_.Hedge(false);
  const std::vector<action::Measure> second = Asked();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].worker, 1);
  measuring_.On(event::VerdictArrived{second[0].call, Correct(1)});
  bool cancelled = false;
  for (const Action& action : context_.TakeActions()) {
    const auto* cancel = std::get_if<action::CancelCall>(&action);
    cancelled = cancelled || (cancel != nullptr && cancel->call == first[0].call);
  }
  EXPECT_TRUE(cancelled);
  EXPECT_EQ(members_.dispatcher().in_flight(), 0);
}

TEST_F(MeasureSchedulerTest, TheUpdateWaitsForTheChallengerToBeMeasuredAfresh) {
  Arrive(0);
  context_.Record(PromptEntry{1, {}});
  for (int sample = 0; sample < 4; ++sample) Rollout(sample, absl::StrCat("int f", sample, "();"));
  for (int sample = 0; sample < 4; ++sample) {
    const std::vector<action::Measure> asked = Asked();
    ASSERT_EQ(asked.size(), 1u) << "one slot";
    EXPECT_FALSE(asked[0].request.fresh());
    measuring_.On(event::VerdictArrived{asked[0].call, Correct(1 + sample)});
  }
  EXPECT_FALSE(measuring_.UpdateReady());
  const std::vector<action::Measure> asked = Asked();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_TRUE(asked[0].request.fresh());
  EXPECT_EQ(asked[0].request.candidate_id(), "sim-1/1/0/3/fresh");
  measuring_.On(event::VerdictArrived{asked[0].call, Correct(3.5)});
  EXPECT_TRUE(measuring_.UpdateReady());
  EXPECT_EQ(context_.durable().incumbents().at("a").verdict.speedup(), 3.5);
}

TEST_F(MeasureSchedulerTest, AStepOfWhichMostIsLostWaitsAndMeasuresItAgain) {
  Arrive(0);
  context_.Record(PromptEntry{1, {}});
  Rollout(0, "int f();");
  Rollout(1, "int f();");
  Rollout(2, "int g();");
  Rollout(3, "");
  Seconds now = 0;
  const auto answer = [&](const absl::Status& status) {
    context_.set_now(now += Dispatcher::kBreakerRestMax);
    std::vector<std::string> ids;
    for (const action::Measure& asked : Asked()) {
      ids.push_back(asked.request.candidate_id());
      if (asked.request.source() == "int g();\n" || status.ok()) {
        measuring_.On(event::VerdictArrived{asked.call, Correct(1)});
      } else {
        measuring_.On(event::CallFailed{asked.call, status});
      }
    }
    return ids;
  };
  const absl::Status full = absl::InternalError("the disk is full");
  for (int i = 0; i < 2 * MeasureScheduler::kAttemptsMax; ++i) answer(full);
  EXPECT_TRUE(VerdictOf(2).has_value());
  EXPECT_FALSE(VerdictOf(0).has_value()) << "two of three programs";
  EXPECT_FALSE(measuring_.UpdateReady());
  std::vector<Wait> waits;
  measuring_.AddWaits(&waits);
  ASSERT_FALSE(waits.empty());
  EXPECT_EQ(waits[0].name,
            "workers that measure for step 1, where 2 of its 3 programs are lost, the last: given "
            "up after 4 attempts; the last: the disk is full");
  EXPECT_EQ(waits[0].deadline, waits[0].since + plan_.campaign.measure().patience_s());
  for (int i = 0; i < 4 && !VerdictOf(0); ++i) answer(absl::OkStatus());
  ASSERT_TRUE(VerdictOf(0).has_value());
  EXPECT_EQ(VerdictOf(0)->verdict.outcome(), v1::CORRECT);
  EXPECT_FALSE(VerdictOf(1)->dropped);
  waits.clear();
  measuring_.AddWaits(&waits);
  for (const Wait& wait : waits) EXPECT_EQ(wait.name.find("lost"), std::string::npos);
}

TEST_F(MeasureSchedulerTest, NobodyToMeasureForTooLongEndsTheCampaign) {
  measuring_.WatchWorkers();
  std::vector<Wait> waits;
  measuring_.AddWaits(&waits);
  EXPECT_TRUE(waits.empty()) << "there is nothing to measure";
  Rollout(0, "int f();");
  measuring_.WatchWorkers();
  measuring_.AddWaits(&waits);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].name, "a worker");
  context_.set_now(kReturnDeadline);
  measuring_.CheckWorkers();
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->message(), "no worker has been reachable for 180 s: no answer");
}

}  // namespace
}  // namespace whetstone
