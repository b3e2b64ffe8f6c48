#include "cpu_bench_worker/stats/statistics.h"

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

// Returns sixteen pairs of twelve samples around `ratio`, each pair with a luck of its own.
PairedRatios Noisy(double ratio, double pair_sd, double round_sd, uint64_t seed) {
  Philox rng(seed, {1, 2, 3, 4});
  PairedRatios pairs(16);
  for (auto& samples : pairs) {
    const double luck = std::exp(pair_sd * rng.Normal());
    for (int r = 0; r < 12; ++r)
      samples.push_back(ratio * luck * std::exp(round_sd * rng.Normal()));
  }
  return pairs;
}

TEST(ScoreTest, IsTheGeometricMeanOfMedians) {
  const Score score = ScoreOf({{{2, 2, 2}, {2, 2}}, {{8, 8, 8}}}, 1);
  EXPECT_DOUBLE_EQ(score.speedup, 4);
  EXPECT_NEAR(score.low, 4, 1e-4);
  EXPECT_NEAR(score.high, 4, 1e-4);
  EXPECT_EQ(ScoreOf({}, 1).speedup, 0);
  EXPECT_DOUBLE_EQ(ScoreOf({{{3}}, {{}}}, 1).speedup, 3) << "sizes without ratios are left out";
}

TEST(ScoreTest, OneWildSampleChangesLittle) {
  PairedRatios pairs = Noisy(1.5, 0, 0.001, 5);
  pairs[2][3] = 400;
  EXPECT_NEAR(ScoreOf({pairs}, 1).speedup, 1.5, 0.01);
}

// Twelve samples of luck that is the pair's own are no evidence: a bootstrap over samples would be
// four times too sure here.
TEST(ScoreTest, TheIntervalCoversTheTruth) {
  for (const int pairs : {3, 6, 16}) {
    int covered = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      PairedRatios ratios = Noisy(1.3, 0.01, 0.003, seed);
      ratios.resize(static_cast<size_t>(pairs));
      const Score score = ScoreOf({ratios}, seed);
      covered += score.low <= 1.3 && 1.3 <= score.high ? 1 : 0;
    }
    EXPECT_GE(covered, 184) << "of 200, by a 95 % interval from " << pairs << " pairs";
  }
}

TEST(ScoreTest, TheLongRunWidensTheIntervalOfWhatIsUnlikeTheReference) {
  const Score near{.speedup = 1, .low = 0.99, .high = 1.01, .error = 0.005};
  const Score as_it_was = WithLongRun(near, 0.004, Confidence::k95);
  EXPECT_DOUBLE_EQ(as_it_was.low, 0.99);
  EXPECT_DOUBLE_EQ(as_it_was.high, 1.01);
  const Score far{.speedup = 10, .low = 10 * std::exp(-0.006), .high = 10 * std::exp(0.006)};
  // 1.96 × 0.5 × 0.4 % × ln 10 is 0.90 %; with 0.6 % that makes 1.08 %.
  EXPECT_NEAR(std::log(WithLongRun(far, 0.004, Confidence::k95).high / 10), 0.0108, 0.0001);
  EXPECT_NEAR(std::log(WithLongRun(far, 0.004, Confidence::k95).low / 10), -0.0108, 0.0001);
  EXPECT_GT(WithLongRun(far, 0.004, Confidence::k995).high,
            WithLongRun(far, 0.004, Confidence::k95).high);
  EXPECT_DOUBLE_EQ(WithLongRun(far, 0, Confidence::k95).high, far.high);
  const Score inverse{.speedup = 0.1, .low = 0.1 * std::exp(-0.006), .high = 0.1};
  EXPECT_NEAR(std::log(WithLongRun(inverse, 0.004, Confidence::k95).low / 0.1), -0.0108, 0.0001);
  EXPECT_EQ(WithLongRun(Score(), 0.004, Confidence::k95).high, 0) << "nothing was measured";
}

TEST(ScoreTest, SizesOfOneProcessPairAreDrawnTogether) {
  const PairedRatios ratios = Noisy(1.3, 0.01, 0.0001, 3);
  const Score one = ScoreOf({ratios}, 3), both = ScoreOf({ratios, ratios}, 3);
  EXPECT_NEAR(std::log(both.high / both.low) / std::log(one.high / one.low), 1, 0.01)
      << "the same luck at a second size is no news";
}

TEST(ScoreTest, MoreConfidenceIsWiderAndFewPairsAreWidest) {
  const PairedRatios many = Noisy(1.3, 0.01, 0.01, 1);
  const Score usual = ScoreOf({many}, 9), strict = ScoreOf({many}, 9, Confidence::k995);
  EXPECT_GT(strict.high, usual.high);
  EXPECT_LT(strict.low, usual.low);
  EXPECT_EQ(strict.error, usual.error)
      << "what is known does not depend on how sure one wants to be";
  EXPECT_NEAR(usual.error, std::log(usual.high / usual.low) / 2 / 2.1, 0.1 * usual.error);
  const Score single = ScoreOf({{many[0]}}, 9);
  EXPECT_GT(single.high / single.low, usual.high / usual.low);
  EXPECT_EQ(ScoreOf({many}, 9).low, usual.low) << "repeatable";
}

}  // namespace
}  // namespace whetstone
