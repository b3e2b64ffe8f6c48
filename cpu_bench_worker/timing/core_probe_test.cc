#include "cpu_bench_worker/timing/core_probe.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/philox.h"

namespace whetstone {
namespace {

// FakeCore is a core whose clock and neighbour the test sets. Its times are what 10,000 dependent
// cycles take on it, and additions that take two thirds of that, with the scatter of reading the
// time, and now and then an interrupt.
class FakeCore {
 public:
  explicit FakeCore(uint64_t seed) : rng_(seed, {0xC0E, 0, 0, 0}) {}
  void set_ghz(double ghz) { ghz_ = ghz; }
  // At 1 the core is ours alone; at 1.3 a neighbour makes the additions take 1.3 times as long.
  void set_contention(double contention) { contention_ = contention; }
  CoreProbeTimes Times() {
    const double latency_bound_ns = 10'000 / ghz_;
    return {.latency_bound_ns = latency_bound_ns * Scatter() + (rng_.Below(200) == 0 ? 900 : 0),
            .throughput_bound_ns = latency_bound_ns * 0.67 * contention_ * Scatter()};
  }

 private:
  double Scatter() { return 1 + 0.002 * (rng_.Uniform() - 0.5); }

  Philox rng_;
  double ghz_ = 3;
  double contention_ = 1;
};

// Returns how many of `count` samples are called changed.
int Changes(FakeCore* core, FrequencyChangeDetector* detector, int count) {
  int changes = 0;
  CoreProbeTimes before = core->Times();
  for (int i = 0; i < count; ++i) {
    const CoreProbeTimes after = core->Times();
    changes += detector->Changed(before, after);
    before = after;
  }
  return changes;
}

CoreProbeTimes LatencyBound(double ns) { return {.latency_bound_ns = ns}; }

TEST(FrequencyChangeDetectorTest, ASteadyClockIsLeftAlone) {
  FakeCore core(1);
  FrequencyChangeDetector detector;
  // An interrupt of 900 ns spoils the sample before it and the one after.
  EXPECT_LE(Changes(&core, &detector, 2000), 2000 * 2 / 200 * 2);
  EXPECT_NEAR(detector.Threshold(), kFrequencyChangeMin, 0.005);
}

TEST(FrequencyChangeDetectorTest, EveryStepIsSeenAtOnce) {
  for (const double ghz : {3.06, 2.94, 2.4, 3.7}) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
      FakeCore core(seed);
      FrequencyChangeDetector detector;
      Changes(&core, &detector, 20);
      core.set_ghz(3);
      const CoreProbeTimes before = core.Times();
      core.set_ghz(ghz);
      const CoreProbeTimes after = core.Times();
      if (std::min(before.latency_bound_ns, after.latency_bound_ns) > 4500)
        continue;  // This is an interrupt, on a core that should have none.
      EXPECT_TRUE(detector.Changed(before, after)) << ghz;
    }
  }
}

// A core whose loops scatter by more than the smallest change says nothing about such changes.
TEST(FrequencyChangeDetectorTest, ANoisyCoreRaisesTheThreshold) {
  Philox rng(3, {0, 0, 0, 0});
  FrequencyChangeDetector detector;
  int changes = 0;
  for (int i = 0; i < 1000; ++i)
    changes += detector.Changed(LatencyBound(1000 * (1 + 0.1 * rng.Uniform())),
                                LatencyBound(1000 * (1 + 0.1 * rng.Uniform())));
  EXPECT_EQ(changes, 0);
  EXPECT_GT(detector.Threshold(), 0.1);
}

TEST(FrequencyChangeDetectorTest, WhatIsUnknownIsNoChange) {
  FrequencyChangeDetector detector;
  for (int i = 0; i < 20; ++i)
    EXPECT_FALSE(detector.Changed(LatencyBound(1000), LatencyBound(1000)));
  EXPECT_EQ(detector.Threshold(), kFrequencyChangeMin);
  EXPECT_FALSE(detector.Changed(CoreProbeTimes{}, LatencyBound(1000)));
  EXPECT_FALSE(detector.Changed(LatencyBound(1000), CoreProbeTimes{}));
  EXPECT_TRUE(detector.Changed(LatencyBound(1000), LatencyBound(1020)));
  EXPECT_TRUE(detector.Changed(LatencyBound(1020), LatencyBound(1000)));
}

TEST(FrequencyChangeDetectorTest, NothingIsSaidBeforeTheScatterIsKnown) {
  FrequencyChangeDetector detector;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(detector.Threshold(), 0);
    EXPECT_FALSE(detector.Changed(LatencyBound(1000), LatencyBound(1500)));
  }
  EXPECT_GT(detector.Threshold(), 0);
}

// Returns the share of `count` measurements that is called shared.
double SharedShare(FakeCore* core, SmtContentionDetector* detector, int count) {
  int shared = 0;
  for (int i = 0; i < count; ++i) shared += detector->Shared(core->Times());
  return static_cast<double>(shared) / count;
}

TEST(SmtContentionDetectorTest, ACoreOfOnesOwnIsNotCalledShared) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeCore core(seed);
    SmtContentionDetector detector;
    core.set_ghz(2 + 0.05 * static_cast<double>(seed));
    // (A latency-bound loop that was interrupted looks like a wide core, which is no harm.)
    EXPECT_EQ(SharedShare(&core, &detector, 2000), 0);
    EXPECT_NEAR(detector.Threshold() / 0.67, 1.04, 0.015);
    EXPECT_EQ(detector.AloneShare(), 1);
  }
}

TEST(SmtContentionDetectorTest, ANeighbourIsSeenAtOnceAndAtAnyClock) {
  for (const double contention : {1.1, 1.25, 1.5, 2.0}) {
    FakeCore core(7);
    SmtContentionDetector detector;
    SharedShare(&core, &detector, 50);
    for (const double ghz : {3.0, 4.1, 2.5}) {
      core.set_ghz(ghz);
      core.set_contention(contention);
      EXPECT_GE(SharedShare(&core, &detector, 200), 0.98) << contention;
      core.set_contention(1);
      EXPECT_EQ(SharedShare(&core, &detector, 50), 0) << contention;
    }
  }
}

TEST(SmtContentionDetectorTest, ANeighbourWhoWasThereFirstIsFoundOutOnceHeLeaves) {
  FakeCore core(8);
  SmtContentionDetector detector;
  core.set_contention(1.3);
  EXPECT_EQ(SharedShare(&core, &detector, 300), 0) << "nothing better is known";
  core.set_contention(1);
  EXPECT_EQ(SharedShare(&core, &detector, 20), 0);
  core.set_contention(1.3);
  EXPECT_GE(SharedShare(&core, &detector, 500), 0.98);
}

TEST(SmtContentionDetectorTest, ANewProcessorIsLearned) {
  FakeCore core(9);
  SmtContentionDetector detector;
  SharedShare(&core, &detector, 50'000);
  core.set_contention(1.2);  // The new processor is as wide as this at best.
  EXPECT_GE(SharedShare(&core, &detector, 20'000), 0.98);
  EXPECT_LT(detector.AloneShare(), 0.1);
  SharedShare(&core, &detector, 3'000'000);
  EXPECT_EQ(SharedShare(&core, &detector, 1000), 0);
  EXPECT_GT(detector.AloneShare(), 0.9);
}

TEST(SmtContentionDetectorTest, WhoeverKeepsAProbeWaitingSharesTheCore) {
  SmtContentionDetector detector;
  EXPECT_EQ(detector.AloneShare(), 1);
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(detector.Shared({}));
  EXPECT_EQ(detector.Threshold(), 0) << "nothing is learned of how wide it is";
  EXPECT_LT(detector.AloneShare(), 0.1);
}

TEST(SmtContentionDetectorTest, WhatIsBeyondEveryScaleDoesNoHarm) {
  SmtContentionDetector detector;
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(detector.Shared({.latency_bound_ns = 1e12, .throughput_bound_ns = 1}));
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(detector.Shared({.latency_bound_ns = 1, .throughput_bound_ns = 1e12}));
}

int AnyCore() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) return i;
  return 0;
}

TEST(CoreProbeTest, TakesTheSameTimeAgainAndAgain) {
  const auto probe = CoreProbe::Start(AnyCore());
  ASSERT_TRUE(probe.ok()) << probe.status();
  std::vector<double> latency_bound(2, 1e9);
  double throughput_bound = 1e9;
  // A busy machine may disturb hundreds of them in a row.
  const auto agree = [&] { return std::abs(latency_bound[0] / latency_bound[1] - 1) < 0.1; };
  for (size_t i = 0; i < 200 || (i < 20'000 && !agree()); ++i) {
    const CoreProbeTimes times = (*probe)->Run();
    if (times.latency_bound_ns <= 0) continue;
    latency_bound[i % 2] = std::min(latency_bound[i % 2], times.latency_bound_ns);
    throughput_bound = std::min(throughput_bound, times.throughput_bound_ns);
  }
  // The loop takes 10,000 cycles, at 0.5 to 10 GHz; the shortest of a hundred is as good as
  // undisturbed.
  EXPECT_GT(latency_bound[0], 1'000);
  EXPECT_LT(latency_bound[0], 20'000);
  EXPECT_NEAR(latency_bound[0] / latency_bound[1], 1, 0.1);
  // The loop does 32,000 additions, one to sixteen a cycle.
  EXPECT_GT(throughput_bound / latency_bound[0], 0.2);
  EXPECT_LT(throughput_bound / latency_bound[0], 3.3);
}

TEST(CoreProbeTest, ACoreThatIsNotThereIsRefused) {
  EXPECT_EQ(CoreProbe::Start(CPU_SETSIZE - 1).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace whetstone
