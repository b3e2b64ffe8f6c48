// These tests time real processes, on cores as the tests want them.
#include "cpu_bench_worker/timing/time_stage.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "cpu_bench_worker/stats/plan.h"
#include "cpu_bench_worker/timing/core_probe.h"
#include "cpu_bench_worker/timing/session_testing.h"

namespace whetstone {
namespace {

// TimeStageTest counts work, not seconds: on its clock no budget runs out, however busy the machine
// is.
class TimeStageTest : public SessionTest {
 protected:
  class StillClock final : public Clock {
   public:
    std::chrono::nanoseconds Now() const override { return {}; }
  };
  const StillClock still_;
};

TEST_F(TimeStageTest, TheReferenceIsRightAndAsFastAsItself) {
  Use(MatmulProblem());
  const auto [check, time] = CheckAndTime(Build(kMatmulIjk), {.clock = &still_});
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
  const auto [check, time] = CheckAndTime(Build(kMatmulIkj), {.clock = &still_});
  EXPECT_EQ(check.cases_right, check.cases) << check.first_bad;
  EXPECT_GT(time.score.speedup, 2.0);
}

// FakeCore is a core as the test wants it, by how often it was probed.
class FakeCore final : public CoreProbe {
 public:
  explicit FakeCore(std::function<CoreProbeTimes(int)> times) : times_(std::move(times)) {}
  CoreProbeTimes Run() override { return times_(++runs_); }
  int runs() const { return runs_; }

 private:
  const std::function<CoreProbeTimes(int)> times_;
  int runs_ = 0;
};

constexpr CoreProbeTimes kAlone{.latency_bound_ns = 3000, .throughput_bound_ns = 2000};
constexpr CoreProbeTimes kShared{.latency_bound_ns = 3000, .throughput_bound_ns = 2500};

// Returns the detector of a core that has been alone before.
SmtContentionDetector KnownDetector() {
  SmtContentionDetector detector;
  for (int i = 0; i < 100; ++i) detector.Shared(kAlone);
  return detector;
}

TEST_F(TimeStageTest, WhatScattersIsMeasuredUntilItIsPrecise) {
  Use(TransposeProblem());
  // The program does one to four times the work, by where this process has its memory.
  const std::string lucky = Build(R"(#include <cstdint>
    void transpose(const int* in, int* out, int r, int c) {
      static int somewhere;
      const int times = 1 + static_cast<int>(reinterpret_cast<std::uintptr_t>(&somewhere) >> 14 & 3);
      for (volatile int t = 0; t < times; t = t + 1)
        for (int i = 0; i < r; ++i)
          for (int j = 0; j < c; ++j) out[j * r + i] = in[i * c + j];
    })");
  const auto pairs = [&](StoppingCriterion criterion) {
    FakeCore core([](int) { return kAlone; });
    const TimeReport time =
        CheckAndTime(lucky, {.clock = &still_, .criterion = criterion, .core_probe = &core}).time;
    return static_cast<int>(time.ratios[0].size());
  };
  EXPECT_LE(pairs(StoppingCriterion::kAllPairs), kProcessPairs);
  const int precise = pairs(StoppingCriterion::kPrecise);
  EXPECT_GT(precise, kProcessPairs);
  EXPECT_LE(precise, kProcessPairsMax);
}

TEST_F(TimeStageTest, OnlyAGuessFarOffCostsAProcessPair) {
  v1::Problem problem = TransposeProblem();
  auto& small = *problem.mutable_sizes()->mutable_timed(0)->mutable_values();
  small["r"] = small["c"] = 160;
  Use(problem);
  const std::string object = Build(problem_.problem.reference());
  Session session(context_, object, 5);
  const auto timed = [&](double guess_of) {
    const CallEstimate estimate{.reference_ns = guess_of, .candidate_ns = guess_of};
    TimeReport time;
    FakeCore core([](int) { return kAlone; });
    const auto failure = TimeCandidate(
        &session, problem_.timed, {estimate},
        {.clock = &still_, .criterion = StoppingCriterion::kAllPairs, .core_probe = &core}, &time);
    EXPECT_FALSE(failure.has_value()) << failure->detail;
    return time;
  };
  // On a busy machine a measurement may be off now and then, and a pair is made again for that.
  constexpr int kTries = 10;
  const auto wasted = [](const TimeReport& report) {
    return report.process_pairs - static_cast<int>(report.ratios[0].size());
  };
  TimeReport far_off = timed(3 * kBatchNsMin);
  for (int i = 1; i < kTries && wasted(far_off) > 1; ++i) far_off = timed(3 * kBatchNsMin);
  ASSERT_EQ(far_off.sizes.size(), 1u);
  ASSERT_GT(far_off.sizes[0].calls_per_request, 1) << "or one call would have been right";
  EXPECT_EQ(wasted(far_off), 1);

  // 5 µs of waking are taken off a guess.
  TimeReport near = timed(5e3 + 1.3 * far_off.sizes[0].reference_ns);
  for (int i = 1; i < kTries && wasted(near) > 0; ++i)
    near = timed(5e3 + 1.3 * near.sizes[0].reference_ns);
  EXPECT_EQ(wasted(near), 0);
}

TEST_F(TimeStageTest, WhoIsFarFromTheReferenceOnlyWhenCheckedIsTimedInFull) {
  Use(TransposeProblem());
  const std::string object = Build(problem_.problem.reference());
  Session session(context_, object, 5);
  const CallEstimate far{.reference_ns = 1e6, .candidate_ns = 1e5};
  TimeReport time;
  FakeCore core([](int) { return kAlone; });
  const auto failure = TimeCandidate(&session, problem_.timed, {far},
                                     {.clock = &still_, .core_probe = &core}, &time);
  ASSERT_FALSE(failure.has_value()) << failure->detail;
  EXPECT_EQ(time.ratios[0][0].size(), static_cast<size_t>(kSamplesMax));
}

// ProbedCoreTest times the reference against itself on a core that the test makes up, with all
// process pairs.
class ProbedCoreTest : public TimeStageTest {
 protected:
  TimeReport TimeOn(CoreProbe* core, SmtContentionDetector* detector) {
    Use(TransposeProblem());
    return CheckAndTime(Build(problem_.problem.reference()),
                        {.clock = &still_,
                         .criterion = StoppingCriterion::kAllPairs,
                         .core_probe = core,
                         .smt_detector = detector})
        .time;
  }
  // A whole measurement consists of so many samples.
  static constexpr int kSamples = kProcessPairs * kSamplesMax;
};

TEST_F(ProbedCoreTest, SamplesInWhichTheFrequencyChangesAreTakenAgain) {
  // The frequency changes after every seventh run.
  FakeCore core([](int runs) {
    const double slower = runs / 7 % 2 == 0 ? 1 : 1.1;
    return CoreProbeTimes{.latency_bound_ns = 3000 * slower, .throughput_bound_ns = 2000 * slower};
  });
  const TimeReport time = TimeOn(&core, nullptr);
  const TimedSize& size = time.sizes[0];
  // One sample lies on every step but those between two process pairs and the first, when the
  // scatter is not known yet.
  EXPECT_LE(size.samples_frequency_changed, core.runs() / 7);
  // On a busy machine samples may be taken again for other reasons, until no more may.
  if (size.samples_redone < kRedoneMax) {
    EXPECT_GE(size.samples_frequency_changed, core.runs() / 7 / 2);
  }
  EXPECT_GE(size.samples_redone, size.samples_frequency_changed);
  EXPECT_EQ(size.samples_core_shared, 0);
  for (const auto& pair : time.ratios[0])
    EXPECT_EQ(pair.size(), time.ratios[0][0].size()) << "none is missing";
}

TEST_F(ProbedCoreTest, SamplesThatShareTheCoreDoNotCount) {
  // One run in ten is shared, and so are the sample before it and the one after.
  FakeCore core([](int runs) { return runs % 10 == 0 ? kShared : kAlone; });
  SmtContentionDetector detector = KnownDetector();
  const TimeReport time = TimeOn(&core, &detector);
  const TimedSize& size = time.sizes[0];
  // A sample that a busy machine disturbed is taken again, shared or not.
  EXPECT_GE(size.samples_core_shared + size.samples_redone, kSamples / 10);
  EXPECT_LE(size.samples_core_shared, core.runs() / 5 + 1);
  EXPECT_EQ(size.samples_counted_shared, 0);
  // Each pair goes on until it has all of its samples.
  EXPECT_EQ(size.samples, kSamples);
  ASSERT_EQ(time.ratios[0].size(), static_cast<size_t>(kProcessPairs));
  for (const auto& pair : time.ratios[0]) EXPECT_EQ(pair.size(), static_cast<size_t>(kSamplesMax));
}

TEST_F(ProbedCoreTest, APairIsStretchedOnlySoFar) {
  // More than half of all samples are shared.
  FakeCore core([](int runs) { return runs % 8 < 4 ? kShared : kAlone; });
  SmtContentionDetector detector = KnownDetector();
  const TimedSize size = TimeOn(&core, &detector).sizes[0];
  EXPECT_LE(size.samples + size.samples_core_shared, kSamplesStretched * kSamples);
  EXPECT_GT(size.samples, kSamples / 2);
  EXPECT_LT(size.samples, kSamples);
  EXPECT_EQ(size.samples_counted_shared, 0);
}

TEST_F(ProbedCoreTest, ANeighbourWhoLeavesLateCostsProcessPairs) {
  // A pair has ten runs, and settling has three: the neighbour stays for most of sixteen pairs.
  FakeCore core([](int runs) { return runs < 140 ? kShared : kAlone; });
  SmtContentionDetector detector = KnownDetector();
  const TimeReport time = TimeOn(&core, &detector);
  EXPECT_GT(time.process_pairs, kProcessPairs);
  EXPECT_EQ(time.ratios[0].size(), static_cast<size_t>(kAlonePairsWanted));
  EXPECT_EQ(time.sizes[0].samples_counted_shared, 0);
}

TEST_F(ProbedCoreTest, ACoreThatIsAlwaysSharedIsMeasuredAllTheSame) {
  FakeCore core([](int) { return kShared; });
  SmtContentionDetector detector = KnownDetector();
  for (int i = 0; i < 12'000; ++i) detector.Shared(i % 20 == 0 ? kAlone : kShared);
  const TimeReport time = TimeOn(&core, &detector);
  const TimedSize& size = time.sizes[0];
  EXPECT_EQ(time.ratios[0].size(), static_cast<size_t>(kProcessPairs)) << "no use waiting";
  EXPECT_EQ(size.samples_core_shared, kSamples);
  EXPECT_EQ(size.samples, kSamples);
  EXPECT_EQ(size.samples_counted_shared, kSamples);
  EXPECT_GT(time.score.speedup, 0.5);
  EXPECT_LT(time.score.speedup, 2);
}

TEST_F(ProbedCoreTest, ANeighbourWhoStaysIsNotWaitedForForEver) {
  FakeCore core([](int) { return kShared; });
  SmtContentionDetector detector = KnownDetector();
  const TimeReport time = TimeOn(&core, &detector);
  EXPECT_GT(time.process_pairs, kProcessPairs);
  EXPECT_LE(time.ratios[0].size(), static_cast<size_t>(kProcessPairsMax));
  EXPECT_EQ(time.sizes[0].samples_counted_shared, time.sizes[0].samples);
}

// CoreClock goes on with every look at a core.
class CoreClock final : public Clock {
 public:
  explicit CoreClock(const FakeCore* core) : core_(core) {}
  std::chrono::nanoseconds Now() const override {
    return std::chrono::milliseconds(10) * core_->runs();
  }

 private:
  const FakeCore* core_;
};

TEST_F(TimeStageTest, WhatIsToBePreciseWaitsForACoreOfItsOwn) {
  Use(TransposeProblem());
  const std::string object = Build(problem_.problem.reference());
  const auto timed = [&](StoppingCriterion criterion, FakeCore* core) {
    const CoreClock clock(core);
    SmtContentionDetector detector = KnownDetector();
    return CheckAndTime(object, {.clock = &clock,
                                 .criterion = criterion,
                                 .core_probe = core,
                                 .smt_detector = &detector})
        .time;
  };
  const auto leaves = [](int runs) { return runs < 60 ? kShared : kAlone; };
  FakeCore waited_for(leaves), not_waited_for(leaves);
  EXPECT_EQ(timed(StoppingCriterion::kPrecise, &waited_for).sizes[0].samples_core_shared, 0);
  EXPECT_GT(timed(StoppingCriterion::kAllPairs, &not_waited_for).sizes[0].samples_core_shared, 0);

  // One who stays is waited for once, and what is measured then does not suffer from the wait.
  FakeCore stays([](int) { return kShared; });
  const TimeReport beside = timed(StoppingCriterion::kPrecise, &stays);
  const int looks = static_cast<int>(kAloneWaitNs / 10e6);
  EXPECT_GE(stays.runs(), looks + kProcessPairs);
  EXPECT_LT(stays.runs(), 2 * looks + kProcessPairs);
  EXPECT_GE(beside.process_pairs, kProcessPairs);
  EXPECT_EQ(beside.sizes[0].samples_counted_shared, beside.sizes[0].samples);
}

TEST_F(ProbedCoreTest, BesideANeighbourWhatIsFarBelowTheLeastIsSoAllTheSame) {
  Use(TransposeProblem());
  FakeCore core([](int) { return kShared; });
  SmtContentionDetector detector = KnownDetector();
  const TimeReport time =
      CheckAndTime(
          Build(problem_.problem.reference()),
          {.clock = &still_, .least_speedup = 10, .core_probe = &core, .smt_detector = &detector})
          .time;
  EXPECT_TRUE(time.below_least);
  EXPECT_LT(time.process_pairs, kProcessPairs);
}

TEST_F(TimeStageTest, WhatIsClearOnASharedCoreIsNotYetClear) {
  v1::Problem problem = MatmulProblem();
  // The reference does everything ten times: no noise hides that the candidate is faster.
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
  // A pair has eight runs, and the first up to eighty more if the machine is busy: the neighbour
  // leaves some pairs later.
  FakeCore core([](int runs) { return runs < 120 ? kShared : kAlone; });
  SmtContentionDetector detector = KnownDetector();
  const TimeReport time =
      CheckAndTime(Build(kMatmulIkj),
                   {.clock = &still_, .core_probe = &core, .smt_detector = &detector})
          .time;
  EXPECT_TRUE(time.stopped_early) << time.score.low << " – " << time.score.high;
  EXPECT_GT(time.process_pairs, kAlonePairsMin);
  EXPECT_GE(time.ratios[0].size(), static_cast<size_t>(kAlonePairsMin));
  EXPECT_LT(time.ratios[0].size(), static_cast<size_t>(time.process_pairs));
  for (const TimedSize& size : time.sizes) {
    EXPECT_GT(size.samples_core_shared, 0);
    EXPECT_EQ(size.samples_counted_shared, 0);
  }
}

TEST_F(ProbedCoreTest, ALookThatWasKeptWaitingIsOfASharedCore) {
  FakeCore core([](int runs) { return runs % 10 == 0 ? CoreProbeTimes{} : kAlone; });
  const TimedSize size = TimeOn(&core, nullptr).sizes[0];
  EXPECT_GE(size.samples_core_shared + size.samples_redone, kSamples / 10);
  EXPECT_EQ(size.samples_counted_shared, 0);
}

}  // namespace
}  // namespace whetstone
