#include "coordinator/durable/candidate_reward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

class CandidateRewardTest : public testing::Test {
 protected:
  CandidateRewardTest()
      : plan_(MakeTestPlan({.steps = 2, .warmup = 0, .sets = {"reward.overlong_buffer=256"}})),
        durable_(&plan_) {
    RolloutEntry rollout;
    rollout.step = 1;
    rollout.completion.set_group_index(1);
    rollout.completion.set_sample(3);
    // The completion has 64 of at most 256 tokens.
    for (int i = 0; i < 64; ++i) rollout.completion.add_ids(i);
    durable_.Apply(rollout);
    verdict_.set_outcome(v1::CORRECT);
    verdict_.set_timed(true);
    verdict_.set_speedup(2);
    calibration_.mutable_expert()->set_speedup(4);
  }
  VerdictEntry Reward(const v1::Calibration* calibration) const {
    return RewardVerdict(plan_, durable_, {1, 1, 3}, verdict_, calibration);
  }

  const CampaignPlan plan_;
  DurableState durable_;
  v1::Verdict verdict_;
  v1::Calibration calibration_;
};

TEST_F(CandidateRewardTest, IsTheVerdictsLessWhatTheLengthCosts) {
  const VerdictEntry entry = Reward(&calibration_);
  const v1::RewardConfig& config = plan_.campaign.reward();
  EXPECT_DOUBLE_EQ(entry.reward,
                   config.correct_base() + 0.5 - config.overlong_penalty() * 64 / 256);
  EXPECT_FALSE(entry.dropped);
  EXPECT_EQ(entry.verdict.candidate_id(), "sim-1/1/1/3");
  EXPECT_EQ(entry.verdict.problem_hash(), "hash-b");
}

TEST_F(CandidateRewardTest, ACalibrationThatIsNotKnownCountsAsAWeakExpert) {
  EXPECT_GT(Reward(nullptr).reward, Reward(&calibration_).reward);
}

TEST_F(CandidateRewardTest, WhatIsDroppedCostsNothing) {
  verdict_.set_outcome(v1::INFRASTRUCTURE_ERROR);
  const VerdictEntry entry = Reward(&calibration_);
  EXPECT_TRUE(entry.dropped);
  EXPECT_EQ(entry.reward, 0);
}

// Pays a wrong program of a step, half of whose cases are right, after the steps before it.
class PartialCreditTest : public testing::Test {
 protected:
  void Begin(const std::vector<std::string>& sets) {
    plan_ = MakeTestPlan({.steps = 9, .warmup = 0, .group_size = 2, .sets = sets});
    durable_.emplace(&plan_);
  }
  static RolloutEntry Rollout(int64_t step, int group, int sample) {
    RolloutEntry rollout;
    rollout.step = step;
    rollout.completion.set_group_index(group);
    rollout.completion.set_sample(sample);
    return rollout;
  }
  static v1::Verdict Of(v1::Outcome outcome) {
    v1::Verdict verdict;
    verdict.set_outcome(outcome);
    verdict.set_timed(true);
    verdict.set_speedup(1);
    verdict.set_pass_fraction(outcome == v1::CORRECT ? 1 : 0.5);
    return verdict;
  }
  // Group 0 is of problem a, group 1 of problem b.
  double Add(int64_t step, int group, int sample, v1::Outcome outcome) {
    durable_->Apply(Rollout(step, group, sample));
    const VerdictEntry entry =
        RewardVerdict(plan_, *durable_, {step, group, sample}, Of(outcome), nullptr);
    durable_->Apply(entry);
    return entry.reward;
  }
  void Update() { durable_->Apply(UpdateEntry{plan_.NameOf(durable_->position() + 1)}); }

  CampaignPlan plan_;
  std::optional<DurableState> durable_;
  static constexpr double kWithCredit = -0.2, kWithout = -0.3;
};

TEST_F(PartialCreditTest, IsAlwaysPaidOrNever) {
  for (const bool always : {true, false}) {
    Begin({absl::StrCat("reward.partial_credit=", always ? "always" : "never")});
    const double want = always ? kWithCredit : kWithout;
    EXPECT_DOUBLE_EQ(Add(1, 0, 0, v1::WRONG_ANSWER), want);
    Add(1, 0, 1, v1::CORRECT);
    Update();
    EXPECT_DOUBLE_EQ(Add(2, 0, 0, v1::WRONG_ANSWER), want);
  }
}

TEST_F(PartialCreditTest, EndsAfterTheStepThatHadARightProgramOfTheProblem) {
  Begin({"reward.partial_credit=until_correct"});
  Add(1, 0, 0, v1::CORRECT);
  EXPECT_DOUBLE_EQ(Add(1, 0, 1, v1::WRONG_ANSWER), kWithCredit)
      << "which verdict of a step came first says nothing";
  Add(1, 1, 0, v1::WRONG_ANSWER);
  Add(1, 1, 1, v1::WRONG_ANSWER);
  Update();
  EXPECT_DOUBLE_EQ(Add(2, 0, 0, v1::WRONG_ANSWER), kWithout);
  EXPECT_DOUBLE_EQ(Add(2, 1, 0, v1::WRONG_ANSWER), kWithCredit) << "the other problem";
  // What a snapshot restores pays the same.
  const v1::StateSnapshot snapshot = durable_->Snapshot();
  EXPECT_TRUE(DurableState::BeginRestore(&plan_, snapshot)->RightBefore(2, "a"));
  EXPECT_FALSE(DurableState::BeginRestore(&plan_, snapshot)->RightBefore(2, "b"));
}

// Steps that are open together have verdicts in any order, so that one says nothing of the other.
TEST_F(PartialCreditTest, WithStalenessEndsOnceTheStepWasOverBeforeSampling) {
  Begin({"reward.partial_credit=until_correct", "train.max_staleness=1"});
  Add(1, 0, 0, v1::CORRECT);
  EXPECT_DOUBLE_EQ(Add(2, 0, 0, v1::WRONG_ANSWER), kWithCredit) << "step 1 is still open";
  for (const int group : {0, 1}) {
    PromptEntry prompt;
    prompt.step = 2;
    prompt.prompt.set_group_index(group);
    durable_->Apply(prompt);
  }
  durable_->Apply(Rollout(2, 1, 0));
  durable_->Apply(Rollout(2, 1, 1));
  durable_->Apply(Rollout(2, 0, 1));
  Update();
  const VerdictEntry late =
      RewardVerdict(plan_, *durable_, {2, 0, 1}, Of(v1::WRONG_ANSWER), nullptr);
  EXPECT_DOUBLE_EQ(late.reward, kWithCredit) << "of one step, one reward";
  EXPECT_DOUBLE_EQ(Add(3, 0, 0, v1::WRONG_ANSWER), kWithout);
}

}  // namespace
}  // namespace whetstone
