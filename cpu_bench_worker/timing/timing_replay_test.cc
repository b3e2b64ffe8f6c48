// These tests replay the stopping rule on timings recorded from real processes (testdata/; written
// by benchmarks/record_timings): of equal programs, and of programs truly 2 % faster.
#include "cpu_bench_worker/timing/timing_replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/file.h"
#include "common/philox.h"
#include "common/tree_testing.h"
#include "cpu_bench_worker/stats/plan.h"
#include "cpu_bench_worker/stats/stopping.h"

namespace whetstone {
namespace {

constexpr int kTrials = 1000;
constexpr double kAaThreshold = 0.005;

RecordedTimings Recorded(const std::string& name) {
  const auto bytes =
      ReadFile(SourceDir() + "/cpu_bench_worker/timing/testdata/" + name + ".timings");
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  const auto timings = DecodeTimings(bytes.value_or(""));
  EXPECT_TRUE(timings.ok()) << timings.status();
  return timings.value_or(RecordedTimings{});
}

ReplayRates Simulate(const std::string& name, double factor = 1, int trials = kTrials) {
  return ReplayTimings(Recorded(name), factor, kAaThreshold, trials);
}

class StoppingTest : public ::testing::TestWithParam<const char*> {};

TEST_P(StoppingTest, EqualCodeIsNotCalledFaster) {
  const ReplayRates rates = Simulate(std::string("equal_") + GetParam());
  EXPECT_LE(rates.called_faster, 0.02);
  EXPECT_GE(rates.covered, 0.95);
  EXPECT_LE(rates.error_95, 0.007);
  EXPECT_LE(rates.stopped_early, 0.01);
}

TEST_P(StoppingTest, TwoPercentFasterIsCalledFaster) {
  const ReplayRates rates = Simulate(std::string("faster_") + GetParam());
  EXPECT_GE(rates.called_faster, 0.95);
  EXPECT_GE(rates.covered, 0.95);
}

TEST_P(StoppingTest, WhatIsClearTakesFewPairs) {
  for (const double factor : {4.0, 0.4}) {
    const ReplayRates rates = Simulate(std::string("equal_") + GetParam(), factor, kTrials / 5);
    EXPECT_GE(rates.stopped_early, 0.95) << factor;
    EXPECT_LE(rates.pairs_mean, 5) << factor;
    EXPECT_GE(rates.covered, 0.95) << factor;
    EXPECT_LE(rates.error_95, 0.03) << factor;
  }
}

// The machine here has process pairs that scatter more than the recorded ones. To stop when the
// interval is narrow favours intervals that are too narrow, but not by much.
TEST_P(StoppingTest, WhatScattersIsMeasuredUntilItIsPrecise) {
  const RecordedTimings recorded = Recorded(std::string("equal_") + GetParam());
  RecordedTimings scattered;
  Philox rng(1, {0x5CA7, 0, 0, 0});
  for (const PairedRatios& size : recorded.sizes) {
    PairedRatios& pairs = scattered.sizes.emplace_back();
    for (int copy = 0; copy < 10; ++copy)
      for (std::vector<double> samples : size) {
        const double luck = std::exp(0.018 * rng.Normal());
        for (double& ratio : samples) ratio *= luck;
        pairs.push_back(std::move(samples));
      }
  }
  const auto replay = [&](StoppingCriterion criterion) {
    return ReplayTimings(scattered, 1, kAaThreshold, kTrials / 5, criterion);
  };
  const ReplayRates all = replay(StoppingCriterion::kAllPairs);
  const ReplayRates precise = replay(StoppingCriterion::kPrecise);
  EXPECT_GT(precise.pairs_mean, 1.2 * kProcessPairs);
  EXPECT_LT(precise.error_95, all.error_95);
  EXPECT_LE(precise.called_faster, 0.02);
  EXPECT_GE(precise.covered, 0.95);
}

INSTANTIATE_TEST_SUITE_P(Recorded, StoppingTest, ::testing::Values("compute", "memory"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ClearAlreadyTest, NeedsDistancePrecisionAndThreePairs) {
  const PairedRatios steady(8, std::vector<double>(8, 2.0));
  EXPECT_TRUE(ClearAlready({steady}, 1));
  EXPECT_FALSE(ClearAlready({{steady[0], steady[1]}}, 1)) << "two pairs tell nothing of placement";
  EXPECT_FALSE(ClearAlready({PairedRatios(8, std::vector<double>(8, 1.05))}, 1)) << "near 1";
  PairedRatios torn = steady;
  for (size_t p = 0; p < 4; ++p) torn[p].assign(8, 1.2);
  EXPECT_FALSE(ClearAlready({torn}, 1)) << "the pairs disagree";
  EXPECT_FALSE(ClearAlready({}, 1));
}

TEST(BelowAlreadyTest, NeedsThreePairsAndAnIntervalThatEndsBelow) {
  const PairedRatios steady(8, std::vector<double>(8, 2.0));
  EXPECT_TRUE(BelowAlready({steady}, 2.1, 0, 1));
  EXPECT_FALSE(BelowAlready({steady}, 2.0, 0, 1));
  EXPECT_FALSE(BelowAlready({steady}, 0, 0, 1)) << "nothing is asked for";
  EXPECT_FALSE(BelowAlready({{steady[0], steady[1]}}, 9, 0, 1));
  PairedRatios torn = steady;
  for (size_t p = 0; p < 4; ++p) torn[p].assign(8, 1.2);
  EXPECT_FALSE(BelowAlready({torn}, 2.1, 0, 1)) << "the pairs disagree";
  EXPECT_FALSE(BelowAlready({}, 2, 0, 1));
  // A threshold of 5 % adds 2.807 × 0.5 × 5 % × ln 2, which is 4.9 %: up to 2.0997.
  EXPECT_FALSE(BelowAlready({steady}, 2.09, 0.05, 1)) << "the verdict's interval is wider";
  EXPECT_TRUE(BelowAlready({steady}, 2.11, 0.05, 1));
}

TEST(PreciseEnoughTest, NeedsPairsThatAgree) {
  PairedRatios pairs;
  for (int p = 0; p < 16; ++p) pairs.emplace_back(8, p % 2 == 0 ? 1.998 : 2.002);
  EXPECT_TRUE(PreciseEnough({pairs}, 1));
  for (int p = 0; p < 16; ++p) pairs[static_cast<size_t>(p)].assign(8, p % 2 == 0 ? 1.9 : 2.1);
  EXPECT_FALSE(PreciseEnough({pairs}, 1));
  EXPECT_FALSE(PreciseEnough({}, 1));
}

}  // namespace
}  // namespace whetstone
