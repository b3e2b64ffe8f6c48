#include "cpu_bench_worker/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/philox.h"

namespace whetstone {
namespace {

TEST(StatisticsTest, MediansAndQuantiles) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Quantile({5, 1, 4, 2, 3}, 0.2), 1);
  EXPECT_EQ(Quantile({5, 1, 4, 2, 3}, 1.0), 5);
  EXPECT_EQ(Quantile({5, 1, 4, 2, 3}, 0.0), 1);
}

// Six pairs of fifteen rounds around `ratio`, each pair with a luck of its own.
PairedRatios Noisy(double ratio, double pair_sd, double round_sd, uint64_t seed) {
  Philox rng(seed, {1, 2, 3, 4});
  PairedRatios pairs(6);
  for (auto& rounds : pairs) {
    const double luck = std::exp(pair_sd * rng.Normal());
    for (int r = 0; r < 15; ++r) rounds.push_back(ratio * luck * std::exp(round_sd * rng.Normal()));
  }
  return pairs;
}

TEST(ScoreTest, IsTheGeometricMeanOfMedians) {
  const Score score = ScoreOf({{{2, 2, 2}, {2, 2}}, {{8, 8, 8}}}, 1);
  EXPECT_DOUBLE_EQ(score.speedup, 4);
  EXPECT_DOUBLE_EQ(score.low, 4);
  EXPECT_DOUBLE_EQ(score.high, 4);
  EXPECT_EQ(ScoreOf({}, 1).speedup, 0);
  EXPECT_DOUBLE_EQ(ScoreOf({{{3}}, {{}}}, 1).speedup, 3) << "sizes without ratios are left out";
}

TEST(ScoreTest, OneWildRoundChangesLittle) {
  PairedRatios pairs = Noisy(1.5, 0, 0.001, 5);
  pairs[2][3] = 400;
  EXPECT_NEAR(ScoreOf({pairs}, 1).speedup, 1.5, 0.01);
}

TEST(ScoreTest, TheIntervalCoversTheTruth) {
  int covered = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Score score = ScoreOf({Noisy(1.3, 0.01, 0.01, seed)}, seed);
    covered += score.low <= 1.3 && 1.3 <= score.high ? 1 : 0;
    EXPECT_LT(score.high / score.low, 1.1);
  }
  EXPECT_GE(covered, 45) << "of 60, by a 95 % interval from six clusters";
  const Score a = ScoreOf({Noisy(1.3, 0.01, 0.01, 1)}, 9),
              b = ScoreOf({Noisy(1.3, 0.01, 0.01, 1)}, 9);
  EXPECT_EQ(a.low, b.low) << "repeatable";
}

}  // namespace
}  // namespace whetstone
