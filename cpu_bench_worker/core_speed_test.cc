#include "cpu_bench_worker/core_speed.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/philox.h"

namespace whetstone {
namespace {

// A core whose clock the test sets: what a chain of 10,000 cycles takes on it, with the scatter of
// reading the time, and now and then an interrupt.
class FakeCore {
 public:
  explicit FakeCore(uint64_t seed) : rng_(seed, {0xC0E, 0, 0, 0}) {}
  void set_ghz(double ghz) { ghz_ = ghz; }
  double ChainNs() {
    const double scatter = 1 + 0.002 * (rng_.Uniform() - 0.5);
    return 10'000 / ghz_ * scatter + (rng_.Below(200) == 0 ? 900 : 0);
  }

 private:
  Philox rng_;
  double ghz_ = 3;
};

// Rounds of `count` that are called changed.
int Changes(FakeCore* core, ClockSteps* steady, int count) {
  int changes = 0;
  double before = core->ChainNs();
  for (int i = 0; i < count; ++i) {
    const double after = core->ChainNs();
    changes += steady->Changed(before, after);
    before = after;
  }
  return changes;
}

TEST(ClockStepsTest, ASteadyClockIsLeftAlone) {
  FakeCore core(1);
  ClockSteps steady;
  // An interrupt of 900 ns spoils the round before it and the one after.
  EXPECT_LE(Changes(&core, &steady, 2000), 2000 * 2 / 200 * 2);
  EXPECT_NEAR(steady.Threshold(), kSpeedChangeMin, 0.005);
}

TEST(ClockStepsTest, EveryStepIsSeenAtOnce) {
  for (const double ghz : {3.06, 2.94, 2.4, 3.7}) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
      FakeCore core(seed);
      ClockSteps steady;
      Changes(&core, &steady, 20);
      core.set_ghz(3);
      const double before = core.ChainNs();
      core.set_ghz(ghz);
      const double after = core.ChainNs();
      if (std::min(before, after) > 4500) continue;  // an interrupt, of one that should have none
      EXPECT_TRUE(steady.Changed(before, after)) << ghz;
    }
  }
}

// A core whose chains scatter by more than the smallest change says nothing about such changes.
TEST(ClockStepsTest, ANoisyCoreRaisesTheThreshold) {
  Philox rng(3, {0, 0, 0, 0});
  ClockSteps steady;
  int changes = 0;
  for (int i = 0; i < 1000; ++i)
    changes += steady.Changed(1000 * (1 + 0.1 * rng.Uniform()), 1000 * (1 + 0.1 * rng.Uniform()));
  EXPECT_EQ(changes, 0);
  EXPECT_GT(steady.Threshold(), 0.1);
}

TEST(ClockStepsTest, WhatIsUnknownIsNoChange) {
  ClockSteps steady;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(steady.Changed(1000, 1000));
  EXPECT_EQ(steady.Threshold(), kSpeedChangeMin);
  EXPECT_FALSE(steady.Changed(0, 1000));
  EXPECT_FALSE(steady.Changed(1000, 0));
  EXPECT_TRUE(steady.Changed(1000, 1020));
  EXPECT_TRUE(steady.Changed(1020, 1000));
}

TEST(ClockStepsTest, NothingIsSaidBeforeTheScatterIsKnown) {
  ClockSteps steady;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(steady.Threshold(), 0);
    EXPECT_FALSE(steady.Changed(1000, 1500));
  }
  EXPECT_GT(steady.Threshold(), 0);
}

int AnyCore() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) return i;
  return 0;
}

TEST(ClockChainTest, TakesTheSameTimeAgainAndAgain) {
  const auto chain = ClockChain::Start(AnyCore());
  ASSERT_TRUE(chain.ok()) << chain.status();
  std::vector<double> best(2, 1e9);
  for (int i = 0; i < 200; ++i) {
    (*chain)->Begin();
    const double ns = (*chain)->AwaitNs();
    if (ns > 0) best[static_cast<size_t>(i % 2)] = std::min(best[static_cast<size_t>(i % 2)], ns);
  }
  // 10,000 cycles, at 0.5 to 10 GHz; the shortest of a hundred is as good as undisturbed.
  EXPECT_GT(best[0], 1'000);
  EXPECT_LT(best[0], 20'000);
  EXPECT_NEAR(best[0] / best[1], 1, 0.1);
}

TEST(ClockChainTest, ACoreThatIsNotThereIsRefused) {
  EXPECT_EQ(ClockChain::Start(CPU_SETSIZE - 1).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace whetstone
