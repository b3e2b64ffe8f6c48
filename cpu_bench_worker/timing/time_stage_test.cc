// Timing real processes, on cores as the tests want them.
#include "cpu_bench_worker/timing/time_stage.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "cpu_bench_worker/stats/plan.h"
#include "cpu_bench_worker/timing/core_speed.h"
#include "cpu_bench_worker/timing/trial_testing.h"

namespace whetstone {
namespace {

using TimeStageTest = TrialTest;

TEST_F(TimeStageTest, TheReferenceIsRightAndAsFastAsItself) {
  Use(MatmulProblem());
  const auto [check, time] = CheckAndTime(Build(kMatmulIjk), {.budget_s = 20});
  EXPECT_EQ(check.cases_right, check.cases) << check.first_bad;
  EXPECT_EQ(check.cases, 4 * 3 + 2 * 3);
  EXPECT_EQ(time.first_bad, "");
  EXPECT_NEAR(time.score.speedup, 1.0, 0.05);
  EXPECT_LE(time.score.low, time.score.speedup);
  EXPECT_GE(time.score.high, time.score.speedup);
  ASSERT_EQ(time.sizes.size(), 2u);
  for (const TimedSize& size : time.sizes) EXPECT_GT(size.reference_ns, 1000);
}

TEST_F(TimeStageTest, AFasterProgramIsFaster) {
  Use(MatmulProblem());
  const auto [check, time] = CheckAndTime(Build(kMatmulIkj), {.budget_s = 20});
  EXPECT_EQ(check.cases_right, check.cases) << check.first_bad;
  EXPECT_GT(time.score.speedup, 2.0);
}

// A core as the test wants it, by how often it was looked at.
class FakeCore final : public CoreWatch {
 public:
  explicit FakeCore(std::function<CoreSpeed(int)> speed) : speed_(std::move(speed)) {}
  CoreSpeed Look() override { return speed_(++looks_); }
  int looks() const { return looks_; }

 private:
  const std::function<CoreSpeed(int)> speed_;
  int looks_ = 0;
};

constexpr CoreSpeed kAlone{.chain_ns = 3000, .wide_ns = 2000};
constexpr CoreSpeed kShared{.chain_ns = 3000, .wide_ns = 2500};

// Of a core that has been alone before.
CoreWidth KnownWidth() {
  CoreWidth width;
  for (int i = 0; i < 100; ++i) width.Shared(kAlone);
  return width;
}

TEST_F(TimeStageTest, WhatScattersIsMeasuredUntilItIsPrecise) {
  Use(TransposeProblem());
  // One to four times the work, by where this process has its memory.
  const std::string lucky = Build(R"(#include <cstdint>
    void transpose(const int* in, int* out, int r, int c) {
      static int somewhere;
      const int times = 1 + static_cast<int>(reinterpret_cast<std::uintptr_t>(&somewhere) >> 14 & 3);
      for (volatile int t = 0; t < times; t = t + 1)
        for (int i = 0; i < r; ++i)
          for (int j = 0; j < c; ++j) out[j * r + i] = in[i * c + j];
    })");
  const auto pairs = [&](Until until) {
    FakeCore core([](int) { return kAlone; });
    const TimeReport time =
        CheckAndTime(lucky, {.budget_s = 20, .until = until, .watch = &core}).time;
    return static_cast<int>(time.ratios[0].size());
  };
  EXPECT_LE(pairs(Until::kAllPairs), kProcessPairs);
  const int precise = pairs(Until::kPrecise);
  EXPECT_GT(precise, kProcessPairs);
  EXPECT_LE(precise, kProcessPairsMax);
}

TEST_F(TimeStageTest, OnlyAGuessFarOffCostsAProcessPair) {
  v1::Problem problem = TransposeProblem();
  auto& small = *problem.mutable_sizes()->mutable_timed(0)->mutable_values();
  small["r"] = small["c"] = 160;
  Use(problem);
  const std::string object = Build(problem_.problem.reference());
  Trial trial(context_, object, 5);
  const auto timed = [&](double guess_of) {
    const CallEstimate estimate{.reference_ns = guess_of, .candidate_ns = guess_of};
    TimeReport time;
    FakeCore core([](int) { return kAlone; });
    const auto failure =
        TimeCandidate(&trial, problem_.timed, {estimate},
                      {.budget_s = 20, .until = Until::kAllPairs, .watch = &core}, &time);
    EXPECT_FALSE(failure.has_value()) << failure->detail;
    return time;
  };
  const TimeReport far_off = timed(3 * kBatchNsMin);
  ASSERT_EQ(far_off.sizes.size(), 1u);
  ASSERT_GT(far_off.sizes[0].calls_per_bell, 1) << "or one call would have been right";
  EXPECT_EQ(far_off.process_pairs, static_cast<int>(far_off.ratios[0].size()) + 1);

  // 5 µs of waking are taken off a guess. On a busy machine settling may be off now and then.
  int wasted = 1;
  for (int i = 0; i < 3 && wasted > 0; ++i) {
    const TimeReport near = timed(5e3 + 1.3 * far_off.sizes[0].reference_ns);
    wasted = near.process_pairs - static_cast<int>(near.ratios[0].size());
  }
  EXPECT_EQ(wasted, 0);
}

TEST_F(TimeStageTest, WhoIsFarFromTheReferenceOnlyWhenCheckedIsTimedInFull) {
  Use(TransposeProblem());
  const std::string object = Build(problem_.problem.reference());
  Trial trial(context_, object, 5);
  const CallEstimate far{.reference_ns = 1e6, .candidate_ns = 1e5};
  TimeReport time;
  FakeCore core([](int) { return kAlone; });
  const auto failure =
      TimeCandidate(&trial, problem_.timed, {far}, {.budget_s = 20, .watch = &core}, &time);
  ASSERT_FALSE(failure.has_value()) << failure->detail;
  EXPECT_EQ(time.ratios[0][0].size(), static_cast<size_t>(kRoundsMax));
}

// Times the reference against itself on a core that the test makes up, with all process pairs.
class WatchedCoreTest : public TrialTest {
 protected:
  TimeReport TimeOn(CoreWatch* core, CoreWidth* width) {
    Use(TransposeProblem());
    return CheckAndTime(Build(problem_.problem.reference()),
                        {.budget_s = 20, .until = Until::kAllPairs, .watch = core, .width = width})
        .time;
  }
  // What a whole measurement consists of.
  static constexpr int kRounds = kProcessPairs * kRoundsMax;
};

TEST_F(WatchedCoreTest, RoundsInWhichTheClockChangesArePlayedAgain) {
  // It changes after every seventh look.
  FakeCore core([](int looks) {
    const double slower = looks / 7 % 2 == 0 ? 1 : 1.1;
    return CoreSpeed{.chain_ns = 3000 * slower, .wide_ns = 2000 * slower};
  });
  const TimeReport time = TimeOn(&core, nullptr);
  const TimedSize& size = time.sizes[0];
  // One round lies on every step but those between two process pairs and the first, when the
  // scatter is not known yet.
  EXPECT_LE(size.rounds_clock_changed, core.looks() / 7);
  // On a busy machine rounds may be played again for other reasons, until no more may.
  if (size.rounds_redone < kRedoneMax) {
    EXPECT_GE(size.rounds_clock_changed, core.looks() / 7 / 2);
  }
  EXPECT_GE(size.rounds_redone, size.rounds_clock_changed);
  EXPECT_EQ(size.rounds_core_shared, 0);
  for (const auto& pair : time.ratios[0])
    EXPECT_EQ(pair.size(), time.ratios[0][0].size()) << "none is missing";
}

TEST_F(WatchedCoreTest, RoundsThatShareTheCoreDoNotCount) {
  // One look in ten, and so the round before it and the one after.
  FakeCore core([](int looks) { return looks % 10 == 0 ? kShared : kAlone; });
  CoreWidth width = KnownWidth();
  const TimeReport time = TimeOn(&core, &width);
  const TimedSize& size = time.sizes[0];
  EXPECT_GE(size.rounds_core_shared, kRounds / 10);
  EXPECT_LE(size.rounds_core_shared, core.looks() / 5 + 1);
  EXPECT_EQ(size.pairs_core_shared, 0);
  // Each pair goes on until it has all of its rounds.
  EXPECT_EQ(size.pairs, kRounds);
  ASSERT_EQ(time.ratios[0].size(), static_cast<size_t>(kProcessPairs));
  for (const auto& pair : time.ratios[0]) EXPECT_EQ(pair.size(), static_cast<size_t>(kRoundsMax));
}

TEST_F(WatchedCoreTest, APairIsStretchedOnlySoFar) {
  // More than half of all rounds.
  FakeCore core([](int looks) { return looks % 8 < 4 ? kShared : kAlone; });
  CoreWidth width = KnownWidth();
  const TimedSize size = TimeOn(&core, &width).sizes[0];
  EXPECT_LE(size.pairs + size.rounds_core_shared, kRoundsStretched * kRounds);
  EXPECT_GT(size.pairs, kRounds / 2);
  EXPECT_LT(size.pairs, kRounds);
  EXPECT_EQ(size.pairs_core_shared, 0);
}

TEST_F(WatchedCoreTest, ANeighbourWhoLeavesLateCostsProcessPairs) {
  // Ten looks a pair and three to settle: the neighbour stays for most of sixteen pairs.
  FakeCore core([](int looks) { return looks < 140 ? kShared : kAlone; });
  CoreWidth width = KnownWidth();
  const TimeReport time = TimeOn(&core, &width);
  EXPECT_GT(time.process_pairs, kProcessPairs);
  EXPECT_EQ(time.ratios[0].size(), static_cast<size_t>(kAlonePairsWanted));
  EXPECT_EQ(time.sizes[0].pairs_core_shared, 0);
}

TEST_F(WatchedCoreTest, ACoreThatIsAlwaysSharedIsMeasuredAllTheSame) {
  FakeCore core([](int) { return kShared; });
  CoreWidth width = KnownWidth();
  for (int i = 0; i < 12'000; ++i) width.Shared(i % 20 == 0 ? kAlone : kShared);
  const TimeReport time = TimeOn(&core, &width);
  const TimedSize& size = time.sizes[0];
  EXPECT_EQ(time.ratios[0].size(), static_cast<size_t>(kProcessPairs)) << "no use waiting";
  EXPECT_EQ(size.rounds_core_shared, kRounds);
  EXPECT_EQ(size.pairs, kRounds);
  EXPECT_EQ(size.pairs_core_shared, kRounds);
  EXPECT_GT(time.score.speedup, 0.5);
  EXPECT_LT(time.score.speedup, 2);
}

TEST_F(WatchedCoreTest, ANeighbourWhoStaysIsNotWaitedForForEver) {
  FakeCore core([](int) { return kShared; });
  CoreWidth width = KnownWidth();
  const TimeReport time = TimeOn(&core, &width);
  EXPECT_GT(time.process_pairs, kProcessPairs);
  EXPECT_LE(time.ratios[0].size(), static_cast<size_t>(kProcessPairsMax));
  EXPECT_EQ(time.sizes[0].pairs_core_shared, time.sizes[0].pairs);
}

TEST_F(TimeStageTest, WhatIsClearOnASharedCoreIsNotYetClear) {
  v1::Problem problem = MatmulProblem();
  // Everything ten times: no noise hides that the candidate is faster.
  problem.set_reference(R"(void matmul(const float* a, const float* b, float* c, int n) {
  for (volatile int again = 0; again < 10; again = again + 1)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
      }
})");
  Use(problem);
  // Eight looks a pair, and up to eighty more in the first if the machine is busy: the neighbour
  // leaves some pairs later.
  FakeCore core([](int looks) { return looks < 120 ? kShared : kAlone; });
  CoreWidth width = KnownWidth();
  const TimeReport time =
      CheckAndTime(Build(kMatmulIkj), {.budget_s = 20, .watch = &core, .width = &width}).time;
  EXPECT_TRUE(time.stopped_early) << time.score.low << " – " << time.score.high;
  EXPECT_GT(time.process_pairs, kAlonePairsMin);
  EXPECT_GE(time.ratios[0].size(), static_cast<size_t>(kAlonePairsMin));
  EXPECT_LT(time.ratios[0].size(), static_cast<size_t>(time.process_pairs));
  for (const TimedSize& size : time.sizes) {
    EXPECT_GT(size.rounds_core_shared, 0);
    EXPECT_EQ(size.pairs_core_shared, 0);
  }
}

TEST_F(WatchedCoreTest, ALookThatWasKeptWaitingIsOfASharedCore) {
  FakeCore core([](int looks) { return looks % 10 == 0 ? CoreSpeed{} : kAlone; });
  const TimedSize size = TimeOn(&core, nullptr).sizes[0];
  EXPECT_GE(size.rounds_core_shared, kRounds / 10);
  EXPECT_EQ(size.pairs_core_shared, 0);
}

}  // namespace
}  // namespace whetstone
