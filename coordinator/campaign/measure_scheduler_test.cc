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
    for (int sample = 1; sample < 4; ++sample) {
      Rollout(sample, absl::StrCat("int g", sample, "();"));
      for (const action::Measure& asked : Asked()) {
        measuring_.On(event::VerdictArrived{asked.call, Correct(1)});
      }
    }
  }
  // Returns what is asked of the workers now.
  std::vector<action::Measure> Asked(bool trainer_computes = false) {
    measuring_.Schedule(trainer_computes);
    std::vector<action::Measure> asked;
    for (Action& action : context_.TakeActions()) {
      if (auto* m = std::get_if<action::Measure>(&action)) asked.push_back(std::move(*m));
    }
    return asked;
  }
  // Lives on for `rest`, and answers what is asked then: with `status`, or, if that is OK or the
  // program is not `only`, with a verdict.
  void AnswerAll(const absl::Status& status, const std::string& only = "",
                 Seconds rest = Dispatcher::kBreakerRestMax, bool trainer_computes = false) {
    context_.set_now(context_.now() + rest);
    measuring_.CheckWorkers();
    const std::vector<action::Measure> all = Asked(trainer_computes);
    measuring_.WatchWorkers(trainer_computes);
    for (const action::Measure& asked : all) {
      if (status.ok() || (!only.empty() && asked.request.source() != only)) {
        measuring_.On(event::VerdictArrived{asked.call, Correct(1)});
      } else {
        measuring_.On(event::CallFailed{asked.call, status});
      }
    }
    measuring_.WatchWorkers(trainer_computes);
  }
  const std::optional<VerdictEntry>& VerdictOf(int sample) const {
    return context_.durable()
        .open_steps()
        .front()
        .groups[0]
        .samples[static_cast<size_t>(sample)]
        .verdict;
  }

  const absl::Status kFull = absl::InternalError("the disk is full");
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
  v1::Verdict verdict = Correct(1);
  verdict.mutable_stage_times()->set_time_us(5);
  measuring_.On(event::VerdictArrived{asked[0].call, verdict});
  EXPECT_FALSE(VerdictOf(0)->verdict.cached());
  EXPECT_TRUE(VerdictOf(1)->verdict.cached());
  Rollout(3, "int f();");
  EXPECT_TRUE(VerdictOf(3)->verdict.cached()) << "also one that comes later";
  EXPECT_EQ(VerdictOf(0)->verdict.stage_times().time_us(), 5);
  for (const int shared : {1, 3}) {
    EXPECT_FALSE(VerdictOf(shared)->verdict.has_stage_times()) << "it was timed once";
  }
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
  ASSERT_TRUE(VerdictOf(0).has_value());
  EXPECT_TRUE(VerdictOf(0)->dropped);
  EXPECT_EQ(VerdictOf(0)->verdict.detail(), "given up after 4 attempts; the last: no memory");
}

TEST_F(MeasureSchedulerTest, AProgramThatEndsItsWorkersIsGivenUp) {
  Arrive(0);
  Arrive(1);
  Rollout(0, "int f();");
  for (int loss = 1; loss <= MeasureScheduler::kWorkerLossesMax; ++loss) {
    const std::vector<action::Measure> asked = Asked();
    ASSERT_EQ(asked.size(), 1u) << loss;
    const auto lost = members_.On(event::ServiceLost{asked[0].worker, "connection reset"});
    measuring_.WorkerLost(*lost);
  }
  ASSERT_TRUE(VerdictOf(0).has_value()) << "at once, though the step is not complete";
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

TEST_F(MeasureSchedulerTest, AStepOfWhichMostIsLostWaitsAndIsMeasuredAgain) {
  Arrive(0);
  for (int sample = 0; sample < 3; ++sample) Rollout(sample, "int f();");
  Rollout(3, "");
  for (int i = 0; i < 2 * MeasureScheduler::kAttemptsMax; ++i) AnswerAll(kFull, "", 64);
  EXPECT_FALSE(VerdictOf(0).has_value()) << "three of four";
  std::vector<Wait> waits;
  measuring_.AddWaits(&waits);
  ASSERT_FALSE(waits.empty());
  EXPECT_EQ(waits.back().name, "a worker that measures; the last attempt: the disk is full");
  EXPECT_EQ(waits.back().deadline, waits.back().since + plan_.campaign.patience().measuring_s());
  AnswerAll(absl::OkStatus(), "", 64);
  ASSERT_TRUE(VerdictOf(0).has_value());
  EXPECT_EQ(VerdictOf(0)->verdict.outcome(), v1::CORRECT);
  EXPECT_FALSE(VerdictOf(2)->dropped);
  waits.clear();
  measuring_.AddWaits(&waits);
  EXPECT_TRUE(waits.empty());
}

TEST_F(MeasureSchedulerTest, WhatFailsWhileOthersAreMeasuredIsDroppedHoweverMuchItIs) {
  Arrive(0);
  for (int sample = 0; sample < 3; ++sample) Rollout(sample, "int poison();");
  Rollout(3, "int g();");
  for (int i = 0; i <= MeasureScheduler::kAttemptsMax; ++i) AnswerAll(kFull, "int poison();\n");
  EXPECT_EQ(VerdictOf(3)->verdict.outcome(), v1::CORRECT);
  ASSERT_TRUE(VerdictOf(0).has_value());
  EXPECT_TRUE(VerdictOf(2)->dropped);
  EXPECT_EQ(VerdictOf(0)->verdict.detail(),
            "given up after 4 attempts; the last: the disk is full (others were measured there "
            "meanwhile)");
}

TEST_F(MeasureSchedulerTest, APoisonAmongRolloutsWithoutCodeHoldsNothingUp) {
  Arrive(0);
  Rollout(0, "int poison();");
  for (int sample = 1; sample < 4; ++sample) Rollout(sample, "");
  for (int i = 0; i < MeasureScheduler::kAttemptsMax; ++i) AnswerAll(kFull);
  ASSERT_TRUE(VerdictOf(0).has_value()) << "one of four, though the only program";
  EXPECT_TRUE(VerdictOf(0)->dropped);
}

TEST_F(MeasureSchedulerTest, WorkersThatMeasureNothingEndTheCampaignAfterThePatience) {
  Arrive(0);
  for (int sample = 0; sample < 4; ++sample) Rollout(sample, absl::StrCat("int f", sample, "();"));
  const Seconds patience = plan_.campaign.patience().measuring_s();
  for (int i = 0; i < 2 * patience && !context_.end(); ++i) AnswerAll(kFull, "", 1);
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(
      context_.end()->message().find("for 900 s (patience.measuring_s) no worker could measure "
                                     "anything: the disk is full"),
      absl::string_view::npos)
      << *context_.end();
  EXPECT_LT(context_.now(), patience + 10) << "rests of the workers count too";
  for (int sample = 0; sample < 4; ++sample) EXPECT_FALSE(VerdictOf(sample).has_value());
}

TEST_F(MeasureSchedulerTest, ThePatienceWithALittleOfAStepEndsWithoutIt) {
  Arrive(0);
  MeasureTheRest();
  Rollout(0, "int f();");
  AnswerAll(kFull);
  context_.set_now(context_.now() + plan_.campaign.patience().measuring_s());
  measuring_.CheckWorkers();
  EXPECT_FALSE(context_.end().has_value()) << *context_.end();
  ASSERT_TRUE(VerdictOf(0).has_value());
  EXPECT_EQ(VerdictOf(0)->verdict.detail(),
            "given up as nothing was measured for 900 s; the last: the disk is full");
}

TEST_F(MeasureSchedulerTest, ThePatienceStandsWhileNothingMayBeMeasured) {
  members_.SetTrainer({});  // which may be anywhere: timing waits until it is quiet
  Arrive(0);
  Rollout(0, "int f();");
  Rollout(1, "int g();");
  v1::Verdict checked;
  checked.set_outcome(v1::CORRECT);
  for (int i = 0; i < 2; ++i) {
    const std::vector<action::Measure> asked = Asked(/*trainer_computes=*/true);
    ASSERT_EQ(asked.size(), 1u);
    measuring_.On(event::VerdictArrived{asked[0].call, checked});
  }
  const std::vector<action::Measure> timed = Asked();
  ASSERT_EQ(timed.size(), 1u);
  measuring_.On(event::CallFailed{timed[0].call, kFull});
  for (int i = 1; i < MeasureScheduler::kAttemptsMax; ++i) {
    AnswerAll(kFull, "", Dispatcher::kBreakerRestMax, /*trainer_computes=*/true);
  }
  EXPECT_TRUE(Asked(/*trainer_computes=*/true).empty()) << "one is lost, the other is to be timed";
  const Seconds patience = plan_.campaign.patience().measuring_s();
  context_.set_now(context_.now() + Dispatcher::kBreakerRestMax);
  measuring_.WatchWorkers(/*trainer_computes=*/true);
  context_.set_now(context_.now() + 2 * patience);
  measuring_.CheckWorkers();
  measuring_.WatchWorkers(/*trainer_computes=*/true);
  EXPECT_FALSE(context_.end().has_value()) << *context_.end();
  std::vector<Wait> waits;
  measuring_.AddWaits(&waits);
  EXPECT_TRUE(waits.empty());
  measuring_.WatchWorkers(/*trainer_computes=*/false);
  context_.set_now(context_.now() + patience);
  measuring_.CheckWorkers();
  EXPECT_TRUE(context_.end().has_value());
}

TEST_F(MeasureSchedulerTest, NobodyToMeasureForTooLongEndsTheCampaign) {
  measuring_.WatchWorkers(/*trainer_computes=*/false);
  std::vector<Wait> waits;
  measuring_.AddWaits(&waits);
  EXPECT_TRUE(waits.empty()) << "there is nothing to measure";
  Rollout(0, "int f();");
  measuring_.WatchWorkers(/*trainer_computes=*/false);
  measuring_.AddWaits(&waits);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].name, "a worker");
  context_.set_now(plan_.campaign.patience().worker_s());
  measuring_.CheckWorkers();
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->message(), "no worker has been reachable for 180 s: no answer");
}

}  // namespace
}  // namespace whetstone
