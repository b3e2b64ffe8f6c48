#include "cpu_bench_worker/timing/timed_samples.h"

#include <gtest/gtest.h>

#include "cpu_bench_worker/stats/plan.h"

namespace whetstone {
namespace {

// `speedup` tells samples apart.
TimedSample Sample(size_t size, int pair, double speedup, bool shared) {
  return {.size = size,
          .pair = pair,
          .reference_ns = 100 * speedup,
          .candidate_ns = 100,
          .shared = shared};
}

TEST(TimedSamplesTest, WithoutANeighbourAllCount) {
  TimedSamples samples(2);
  for (int pair = 1; pair <= 2; ++pair)
    for (size_t size = 0; size < 2; ++size)
      for (int i = 0; i < 3; ++i) samples.Add(Sample(size, pair, pair + 10.0 * size, false));
  EXPECT_EQ(samples.AlonePairs(), 2);
  EXPECT_EQ(samples.Summary(0).samples_core_shared, 0);
  const std::vector<PairedRatios> expected = {{{1, 1, 1}, {2, 2, 2}}, {{11, 11, 11}, {12, 12, 12}}};
  EXPECT_EQ(samples.Ratios(), expected);
}

TEST(TimedSamplesTest, EnoughPairsAloneDoWithoutWhatWasShared) {
  TimedSamples samples(1);
  for (int pair = 1; pair <= kAlonePairsMin; ++pair) {
    EXPECT_EQ(samples.Ratios()[0].size(), static_cast<size_t>(pair - 1)) << "all count until then";
    samples.Add(Sample(0, pair, 2, true));
    samples.Add(Sample(0, pair, 3, false));
  }
  samples.Add(Sample(0, 9, 2, true));
  EXPECT_EQ(samples.AlonePairs(), kAlonePairsMin);
  EXPECT_EQ(samples.Summary(0).samples_core_shared, kAlonePairsMin + 1);
  EXPECT_EQ(samples.Ratios(), std::vector<PairedRatios>{PairedRatios(kAlonePairsMin, {3.0})});
}

TEST(TimedSamplesTest, WhereNearlyAllWereSharedAllCount) {
  TimedSamples samples(1);
  for (int pair = 1; pair <= 5; ++pair) {
    samples.Add(Sample(0, pair, 2, true));
    if (pair < kAlonePairsMin) samples.Add(Sample(0, pair, 3, false));
  }
  EXPECT_EQ(samples.AlonePairs(), kAlonePairsMin - 1);
  const PairedRatios expected = {{2, 3}, {2, 3}, {2}, {2}, {2}};
  EXPECT_EQ(samples.Ratios(), std::vector<PairedRatios>{expected});
}

// Pairs are the clusters of the interval, so each must be one at every size.
TEST(TimedSamplesTest, APairThatHadTheCoreAtOneSizeOnlyDoesNotCount) {
  TimedSamples samples(2);
  for (int pair = 1; pair <= 6; ++pair) {
    samples.Add(Sample(0, pair, pair, false));
    samples.Add(Sample(1, pair, 10 + pair, pair % 2 == 0));
  }
  EXPECT_EQ(samples.AlonePairs(), 3);
  const std::vector<PairedRatios> expected = {{{1}, {3}, {5}}, {{11}, {13}, {15}}};
  EXPECT_EQ(samples.Ratios(), expected) << "in the order of time";
}

TEST(TimedSamplesTest, NothingPlayedIsNothing) {
  const TimedSamples samples(2);
  EXPECT_EQ(samples.AlonePairs(), 0);
  EXPECT_EQ(samples.Ratios(), std::vector<PairedRatios>(2));
}

// An expert of 8.0 came out at up to 10.3 beside a neighbour.
TEST(TimedSamplesTest, WhatWasMeasuredBesideANeighbourMayBeFarFromWhatItIsAlone) {
  const Score beside{.speedup = 10.3, .low = 10.2, .high = 10.4};
  const auto low = [&](bool counts_shared) {
    return WithLongRun(beside, LongRunThreshold(0.004, counts_shared), Confidence::k95).low;
  };
  EXPECT_LT(low(true), 8.0);
  EXPECT_GT(low(false), 10.0);
  EXPECT_EQ(LongRunThreshold(0.2, true), 0.2) << "where equal code is further apart than that";
}

}  // namespace
}  // namespace whetstone
