#include "common/reward_noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/philox.h"

namespace whetstone {
namespace {

TEST(NoiseShare, IsTheMeanSquaredErrorOverTheVariance) {
  // Of 1, 2 and 6 the variance is 7.
  EXPECT_DOUBLE_EQ(NoiseShare({{1, 0.5}, {2, 1}, {6, 2}}), (0.25 + 1 + 4) / 3 / 7);
  EXPECT_EQ(NoiseShare({{1}, {2}, {6}}), 0) << "exact rewards";
  EXPECT_EQ(NoiseShare({{1, 3}, {2, 3}, {6, 3}}), 1) << "never more than all";
}

TEST(NoiseShare, NothingIsTheNoiseOfEqualRewards) {
  EXPECT_EQ(NoiseShare({}), 1);
  EXPECT_EQ(NoiseShare({{0.3, 0.1}}), 1);
  EXPECT_EQ(NoiseShare({{0.1}, {0.1}, {0.1}}), 1);
  EXPECT_EQ(NoiseShare({{0.1}, {0.1, 0.2}}), 1) << "equal, whatever their errors";
}

// Of twelve rollouts that wrote one of two programs, each measured once, the measured share is what
// many measurements of equal programs say.
TEST(NoiseShare, OneMeasurementOfManyRolloutsIsOneError) {
  constexpr double kError = 0.1, kDifference = 1;
  constexpr int kTries = 4000;
  Philox rng(3, {0, 0, 0, 0});
  double variance_of_noise = 0;
  for (int i = 0; i < kTries; ++i) {
    const double a = kError * rng.Normal(), b = kError * rng.Normal();
    variance_of_noise += (a - b) * (a - b) * 11 / 144 * 12 / 11 / kTries;
  }
  std::vector<MeasuredReward> rewards(11, {.value = 0, .error = kError});
  rewards.push_back({.value = kDifference, .error = kError});
  const double variance = kDifference * kDifference * 11 / 144 * 12 / 11;
  EXPECT_NEAR(NoiseShare(rewards), variance_of_noise / variance,
              0.1 * variance_of_noise / variance);
}

}  // namespace
}  // namespace whetstone
