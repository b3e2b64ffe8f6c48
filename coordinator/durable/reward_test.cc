#include "coordinator/durable/reward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "coordinator/config/campaign_parser.h"

namespace whetstone {
namespace {

v1::RewardConfig Defaults() {
  return ParseCampaign("name: x\nmodel: /m\nproblems: [a.md]\n", "c.yaml", "/", {})->reward();
}

v1::Verdict Of(v1::Outcome outcome) {
  v1::Verdict verdict;
  verdict.set_outcome(outcome);
  return verdict;
}

v1::Verdict Correct(double speedup) {
  v1::Verdict verdict = Of(v1::CORRECT);
  verdict.set_timed(true);
  verdict.set_speedup(speedup);
  return verdict;
}

TEST(RewardTest, EveryOutcomeHasTheDesignsNumber) {
  const v1::RewardConfig config = Defaults();
  const std::pair<v1::Outcome, double> table[] = {
      {v1::NO_CODE, -1}, {v1::FORBIDDEN, -1}, {v1::COMPILE_ERROR, -0.6},
      {v1::CRASH, -0.4}, {v1::TIMEOUT, -0.4}, {v1::MEMORY_LIMIT, -0.4}};
  for (const auto& [outcome, want] : table) {
    const Reward reward = RewardOf(Of(outcome), config, 8, 0.01);
    EXPECT_DOUBLE_EQ(reward.value, want) << v1::Outcome_Name(outcome);
    EXPECT_FALSE(reward.dropped);
  }
}

TEST(RewardTest, WrongAnswersEarnByTheirPassFraction) {
  v1::Verdict wrong = Of(v1::WRONG_ANSWER);
  EXPECT_DOUBLE_EQ(RewardOf(wrong, Defaults(), 8, 0).value, -0.3);
  wrong.set_pass_fraction(0.5);
  EXPECT_DOUBLE_EQ(RewardOf(wrong, Defaults(), 8, 0).value, -0.2);
  wrong.set_pass_fraction(1);
  EXPECT_LT(RewardOf(wrong, Defaults(), 8, 0).value, RewardOf(Correct(0.1), Defaults(), 8, 0).value)
      << "the slowest right program is worth more than the nearly right one";
}

TEST(RewardTest, SpeedCountsByItsLogarithmAgainstTheExpert) {
  EXPECT_DOUBLE_EQ(RewardOf(Correct(1), Defaults(), 8, 0).value, 0.3);
  EXPECT_DOUBLE_EQ(RewardOf(Correct(8), Defaults(), 8, 0).value, 1.3);
  EXPECT_NEAR(RewardOf(Correct(std::sqrt(8.0)), Defaults(), 8, 0).value, 0.8, 1e-12);
  EXPECT_DOUBLE_EQ(RewardOf(Correct(1000), Defaults(), 8, 0).value, 1.5) << "clipped above";
  EXPECT_DOUBLE_EQ(RewardOf(Correct(0.01), Defaults(), 8, 0).value, 0.3 - 0.2) << "clipped below";
  EXPECT_DOUBLE_EQ(RewardOf(Correct(2), Defaults(), 1.2, 0).value, 1.3)
      << "an expert below 2x counts as 2x";
}

TEST(RewardTest, SpeedInsideTheNoiseBandIsNoSpeed) {
  EXPECT_DOUBLE_EQ(RewardOf(Correct(1.01), Defaults(), 8, 0.02).value, 0.3);
  EXPECT_GT(RewardOf(Correct(1.03), Defaults(), 8, 0.02).value, 0.3);
  v1::Verdict own_band = Correct(1.03);
  own_band.set_noise_band(0.05);
  EXPECT_DOUBLE_EQ(RewardOf(own_band, Defaults(), 8, 0.02).value, 0.3);
}

TEST(RewardTest, LengthCostsOnlyInTheBuffer) {
  v1::RewardConfig config = Defaults();
  EXPECT_EQ(OverlongPenalty(config, 256, 256), 0) << "off by default";
  config.set_overlong_buffer(100);
  const std::pair<int, double> table[] = {{0, 0},     {156, 0}, {157, 0.01},
                                          {206, 0.5}, {256, 1}, {300, 1}};
  for (const auto& [tokens, want] : table) {
    EXPECT_DOUBLE_EQ(OverlongPenalty(config, tokens, 256), want) << tokens;
  }
  config.set_overlong_penalty(0.3);
  EXPECT_DOUBLE_EQ(OverlongPenalty(config, 206, 256), 0.15);
}

TEST(RewardTest, NumbersThatNoMeasurementHasAreTheWorkersFailure) {
  EXPECT_TRUE(CheckVerdict(Correct(0.5)).ok());
  EXPECT_TRUE(CheckVerdict(Of(v1::WRONG_ANSWER)).ok()) << "it has no speedup";
  const double nan = std::nan("");
  for (const double speedup : {0.0, -1.0, nan, HUGE_VAL}) {
    EXPECT_EQ(CheckVerdict(Correct(speedup)).code(), absl::StatusCode::kInternal) << speedup;
  }
  v1::Verdict wrong = Of(v1::WRONG_ANSWER);
  wrong.set_pass_fraction(nan);
  EXPECT_FALSE(CheckVerdict(wrong).ok());
  v1::Verdict suspect = Correct(HUGE_VAL);
  suspect.set_outcome(v1::SUSPECT);
  EXPECT_TRUE(CheckVerdict(suspect).ok()) << "faster than anything, and known to be";
  v1::Verdict ours = Of(v1::INFRASTRUCTURE_ERROR);
  ours.set_detail("no memory");
  EXPECT_EQ(CheckVerdict(ours).message(), "no memory");
  EXPECT_DOUBLE_EQ(RewardOf(Correct(2), Defaults(), nan, 0).value, 1.3) << "no expert's speedup";
}

TEST(RewardTest, OurOwnFailuresAreDropped) {
  const Reward reward = RewardOf(Of(v1::INFRASTRUCTURE_ERROR), Defaults(), 8, 0);
  EXPECT_TRUE(reward.dropped);
  EXPECT_EQ(reward.value, 0);
}

TEST(RewardTest, FasterThanPhysicsEarnsWhatAWrongAnswerEarns) {
  v1::Verdict suspect = Correct(90);
  suspect.set_outcome(v1::SUSPECT);
  suspect.set_pass_fraction(1);
  const Reward reward = RewardOf(suspect, Defaults(), 8, 0);
  EXPECT_FALSE(reward.dropped);
  EXPECT_DOUBLE_EQ(reward.value, Defaults().wrong_base());
  EXPECT_EQ(reward.error, 0);
}

TEST(RewardTest, OnlyAMeasuredSpeedHasAnError) {
  v1::Verdict verdict = Correct(2);
  verdict.set_speedup_error(0.01);
  // The expert's 8 takes ln 8 for one.
  EXPECT_NEAR(RewardOf(verdict, Defaults(), 8, 0).error, 0.01 / std::log(8), 1e-12);
  // Measured again it would differ as equal code does, too.
  EXPECT_NEAR(RewardOf(verdict, Defaults(), 8, 0.02).error,
              std::hypot(0.01, 0.02 / 1.96) / std::log(8), 1e-12);
  for (const double exact : {1.01, 1e6}) {
    verdict.set_speedup(exact);
    EXPECT_EQ(RewardOf(verdict, Defaults(), 8, 0.02).error, 0)
        << "inside the noise band, or clipped";
  }
  for (const v1::Outcome outcome : {v1::NO_CODE, v1::CRASH, v1::WRONG_ANSWER}) {
    EXPECT_EQ(RewardOf(Of(outcome), Defaults(), 8, 0.02).error, 0);
  }
}

}  // namespace
}  // namespace whetstone
