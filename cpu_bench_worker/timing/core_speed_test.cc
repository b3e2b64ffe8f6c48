#include "cpu_bench_worker/timing/core_speed.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/philox.h"

namespace whetstone {
namespace {

// A core whose clock and neighbour the test sets: what a chain of 10,000 cycles takes on it, and
// additions that take two thirds of that, with the scatter of reading the time, and now and then an
// interrupt.
class FakeCore {
 public:
  explicit FakeCore(uint64_t seed) : rng_(seed, {0xC0E, 0, 0, 0}) {}
  void set_ghz(double ghz) { ghz_ = ghz; }
  // 1: the core is ours alone; 1.3: a neighbour takes a third of it.
  void set_narrower(double narrower) { narrower_ = narrower; }
  CoreSpeed Speed() {
    const double chain_ns = 10'000 / ghz_;
    return {.chain_ns = chain_ns * Scatter() + (rng_.Below(200) == 0 ? 900 : 0),
            .wide_ns = chain_ns * 0.67 * narrower_ * Scatter()};
  }

 private:
  double Scatter() { return 1 + 0.002 * (rng_.Uniform() - 0.5); }

  Philox rng_;
  double ghz_ = 3;
  double narrower_ = 1;
};

// Rounds of `count` that are called changed.
int Changes(FakeCore* core, ClockSteps* steady, int count) {
  int changes = 0;
  CoreSpeed before = core->Speed();
  for (int i = 0; i < count; ++i) {
    const CoreSpeed after = core->Speed();
    changes += steady->Changed(before, after);
    before = after;
  }
  return changes;
}

CoreSpeed Chain(double ns) { return {.chain_ns = ns}; }

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
      const CoreSpeed before = core.Speed();
      core.set_ghz(ghz);
      const CoreSpeed after = core.Speed();
      if (std::min(before.chain_ns, after.chain_ns) > 4500)
        continue;  // an interrupt, of one that should have none
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
    changes += steady.Changed(Chain(1000 * (1 + 0.1 * rng.Uniform())),
                              Chain(1000 * (1 + 0.1 * rng.Uniform())));
  EXPECT_EQ(changes, 0);
  EXPECT_GT(steady.Threshold(), 0.1);
}

TEST(ClockStepsTest, WhatIsUnknownIsNoChange) {
  ClockSteps steady;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(steady.Changed(Chain(1000), Chain(1000)));
  EXPECT_EQ(steady.Threshold(), kSpeedChangeMin);
  EXPECT_FALSE(steady.Changed(CoreSpeed{}, Chain(1000)));
  EXPECT_FALSE(steady.Changed(Chain(1000), CoreSpeed{}));
  EXPECT_TRUE(steady.Changed(Chain(1000), Chain(1020)));
  EXPECT_TRUE(steady.Changed(Chain(1020), Chain(1000)));
}

TEST(ClockStepsTest, NothingIsSaidBeforeTheScatterIsKnown) {
  ClockSteps steady;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(steady.Threshold(), 0);
    EXPECT_FALSE(steady.Changed(Chain(1000), Chain(1500)));
  }
  EXPECT_GT(steady.Threshold(), 0);
}

// Of `count` measurements, the share called shared.
double SharedShare(FakeCore* core, CoreWidth* width, int count) {
  int shared = 0;
  for (int i = 0; i < count; ++i) shared += width->Shared(core->Speed());
  return static_cast<double>(shared) / count;
}

TEST(CoreWidthTest, ACoreOfOnesOwnIsNotCalledShared) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeCore core(seed);
    CoreWidth width;
    core.set_ghz(2 + 0.05 * static_cast<double>(seed));
    // (A chain that was interrupted looks like a wide core, which is no harm.)
    EXPECT_EQ(SharedShare(&core, &width, 2000), 0);
    EXPECT_NEAR(width.Threshold() / 0.67, 1.04, 0.015);
    EXPECT_EQ(width.AloneShare(), 1);
  }
}

TEST(CoreWidthTest, ANeighbourIsSeenAtOnceAndAtAnyClock) {
  for (const double narrower : {1.1, 1.25, 1.5, 2.0}) {
    FakeCore core(7);
    CoreWidth width;
    SharedShare(&core, &width, 50);
    for (const double ghz : {3.0, 4.1, 2.5}) {
      core.set_ghz(ghz);
      core.set_narrower(narrower);
      EXPECT_GE(SharedShare(&core, &width, 200), 0.98) << narrower;
      core.set_narrower(1);
      EXPECT_EQ(SharedShare(&core, &width, 50), 0) << narrower;
    }
  }
}

TEST(CoreWidthTest, ANeighbourWhoWasThereFirstIsFoundOutOnceHeLeaves) {
  FakeCore core(8);
  CoreWidth width;
  core.set_narrower(1.3);
  EXPECT_EQ(SharedShare(&core, &width, 300), 0) << "nothing better is known";
  core.set_narrower(1);
  EXPECT_EQ(SharedShare(&core, &width, 20), 0);
  core.set_narrower(1.3);
  EXPECT_GE(SharedShare(&core, &width, 500), 0.98);
}

TEST(CoreWidthTest, ANewProcessorIsLearned) {
  FakeCore core(9);
  CoreWidth width;
  SharedShare(&core, &width, 50'000);
  core.set_narrower(1.2);  // as wide as it gets, there
  EXPECT_GE(SharedShare(&core, &width, 20'000), 0.98);
  EXPECT_LT(width.AloneShare(), 0.1);
  SharedShare(&core, &width, 3'000'000);
  EXPECT_EQ(SharedShare(&core, &width, 1000), 0);
  EXPECT_GT(width.AloneShare(), 0.9);
}

TEST(CoreWidthTest, WhoeverKeepsALookWaitingSharesTheCore) {
  CoreWidth width;
  EXPECT_EQ(width.AloneShare(), 1);
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(width.Shared({}));
  EXPECT_EQ(width.Threshold(), 0) << "nothing is learned of how wide it is";
  EXPECT_LT(width.AloneShare(), 0.1);
}

TEST(CoreWidthTest, WhatIsBeyondEveryScaleDoesNoHarm) {
  CoreWidth width;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(width.Shared({.chain_ns = 1e12, .wide_ns = 1}));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(width.Shared({.chain_ns = 1, .wide_ns = 1e12}));
}

int AnyCore() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) return i;
  return 0;
}

TEST(CoreWatchTest, TakesTheSameTimeAgainAndAgain) {
  const auto watch = CoreWatch::Start(AnyCore());
  ASSERT_TRUE(watch.ok()) << watch.status();
  std::vector<double> chain(2, 1e9);
  double wide = 1e9;
  for (size_t i = 0; i < 200; ++i) {
    const CoreSpeed speed = (*watch)->Look();
    if (speed.chain_ns <= 0) continue;
    chain[i % 2] = std::min(chain[i % 2], speed.chain_ns);
    wide = std::min(wide, speed.wide_ns);
  }
  // 10,000 cycles, at 0.5 to 10 GHz; the shortest of a hundred is as good as undisturbed.
  EXPECT_GT(chain[0], 1'000);
  EXPECT_LT(chain[0], 20'000);
  EXPECT_NEAR(chain[0] / chain[1], 1, 0.1);
  // 32,000 additions, one to sixteen a cycle.
  EXPECT_GT(wide / chain[0], 0.2);
  EXPECT_LT(wide / chain[0], 3.3);
}

TEST(CoreWatchTest, ACoreThatIsNotThereIsRefused) {
  EXPECT_EQ(CoreWatch::Start(CPU_SETSIZE - 1).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace whetstone
