// The stopping rule, replayed on timings recorded from real processes (testdata/; written by
// benchmarks/record_timings): equal programs, and programs truly 2 % faster.
#include "cpu_bench_worker/stopping.h"

#include <gtest/gtest.h>

#include <string>

#include "common/file.h"
#include "common/tree_testing.h"
#include "cpu_bench_worker/timing_replay.h"

namespace whetstone {
namespace {

constexpr int kTrials = 1000;
constexpr double kNoiseBand = 0.005;

ReplayRates Simulate(const std::string& name, double factor = 1, int trials = kTrials) {
  const auto bytes = ReadFile(SourceDir() + "/cpu_bench_worker/testdata/" + name + ".timings");
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  const auto timings = DecodeTimings(bytes.value_or(""));
  EXPECT_TRUE(timings.ok()) << timings.status();
  return timings.ok() ? ReplayTimings(*timings, factor, kNoiseBand, trials) : ReplayRates{};
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

}  // namespace
}  // namespace whetstone
