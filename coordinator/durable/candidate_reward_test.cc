#include "coordinator/durable/candidate_reward.h"

#include <gtest/gtest.h>

#include <cmath>

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
  verdict_.set_outcome(v1::SUSPECT);
  const VerdictEntry entry = Reward(&calibration_);
  EXPECT_TRUE(entry.dropped);
  EXPECT_EQ(entry.reward, 0);
}

}  // namespace
}  // namespace whetstone
