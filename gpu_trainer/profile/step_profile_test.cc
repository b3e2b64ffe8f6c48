#include "gpu_trainer/profile/step_profile.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Work(double seconds) {
  const Clock::time_point start = Clock::now();
  while (SecondsSince(start) < seconds) {
  }
}

TEST(StepProfileTest, PartsAddUpToTheWholeHoweverTheyNest) {
  StepProfile profile;
  const Clock::time_point start = Clock::now();
  double collected_s = 0;
  {
    const ProfileCollection collecting(&profile);
    const Clock::time_point collecting_since = Clock::now();
    Work(0.002);
    const PartScope outer(Part::kDecodeMatmul, 100, 10);
    Work(0.002);
    for (int i = 0; i < 2; ++i) {
      const PartScope inner(Part::kDecodeAttention, 7, 3);
      Work(0.004);
      const PartScope same(Part::kDecodeAttention);
      Work(0.001);
    }
    Work(0.002);
    collected_s = SecondsSince(collecting_since);
  }
  const double whole_s = SecondsSince(start);
  EXPECT_LE(profile.seconds(), whole_s);
  EXPECT_GE(profile.seconds(), collected_s);
  EXPECT_GE(profile.of(Part::kDecodeAttention).seconds, 0.010);
  EXPECT_GE(profile.of(Part::kDecodeMatmul).seconds, 0.004);
  EXPECT_LE(profile.of(Part::kDecodeMatmul).seconds, whole_s - 0.012)
      << "an inner scope's time was also the outer one's";
  EXPECT_GE(profile.of(Part::kOther).seconds, 0.002);
  EXPECT_EQ(profile.of(Part::kDecodeMatmul).calls, 1);
  EXPECT_EQ(profile.of(Part::kDecodeAttention).calls, 4);
  EXPECT_EQ(profile.of(Part::kDecodeAttention).flops, 14);
  EXPECT_EQ(profile.of(Part::kDecodeAttention).bytes, 6);
  EXPECT_EQ(profile.flops(), 114);
}

TEST(StepProfileTest, NothingIsCountedOutsideACollection) {
  StepProfile profile;
  { const PartScope before(Part::kHead, 1, 1); }
  {
    const ProfileCollection collecting(&profile);
    std::thread([] { const PartScope elsewhere(Part::kHead, 1, 1); }).join();
  }
  { const PartScope after(Part::kHead, 1, 1); }
  EXPECT_EQ(profile.of(Part::kHead).calls, 0);
  EXPECT_EQ(profile.of(Part::kHead).seconds, 0);
  EXPECT_EQ(profile.flops(), 0);
  const double seconds = profile.seconds();
  Work(0.002);
  EXPECT_EQ(profile.seconds(), seconds);
}

TEST(StepProfileTest, ASecondCollectionAddsToTheFirst) {
  StepProfile profile;
  for (int i = 0; i < 2; ++i) {
    const ProfileCollection collecting(&profile);
    const PartScope scope(Part::kOptimizer, 0, 5);
  }
  EXPECT_EQ(profile.of(Part::kOptimizer).calls, 2);
  EXPECT_EQ(profile.of(Part::kOptimizer).bytes, 10);
}

TEST(StepProfileTest, RecomputeDoesNoUsefulWorkAndPrefillIsWhole) {
  StepProfile profile;
  {
    const ProfileCollection collecting(&profile);
    {
      const PartScope recompute(Part::kRecompute);
      const PartScope again(Part::kForwardMatmul, 1000, 1000);
      Work(0.003);
    }
    const PartScope prefill(Part::kPrefill, 50, 5);
    const PartScope inside(Part::kDecodeElementwise, 0, 1000);
    Work(0.003);
  }
  EXPECT_EQ(profile.flops(), 50);
  EXPECT_EQ(profile.of(Part::kForwardMatmul).calls, 0);
  EXPECT_GE(profile.of(Part::kRecompute).seconds, 0.003);
  EXPECT_EQ(profile.of(Part::kDecodeElementwise).bytes, 0);
  EXPECT_GE(profile.of(Part::kPrefill).seconds, 0.003);
}

// A device that works two seconds between any two marks, whatever the host does meanwhile.
struct TwoSeconds final : DeviceClock {
  void Mark() noexcept override { ++marks; }
  std::vector<double> Seconds() noexcept override {
    std::vector<double> seconds(broken || marks == 0 ? 0 : static_cast<size_t>(marks - 1), 2.0);
    marks = marks > 0 ? 1 : 0;
    ++waits;
    return seconds;
  }
  int marks = 0, waits = 0;
  bool broken = false;
};

TEST(StepProfileTest, ADevicesClockTellsWhenItPassedFromPartToPart) {
  StepProfile profile;
  StepTrace trace;
  TwoSeconds clock;
  for (int i = 0; i < 2; ++i) {  // nothing of the time in between counts
    const ProfileCollection collecting(&profile, &trace, &clock);
    const PartScope outer(Part::kForwardMatmul, 100);
    { const PartScope inner(Part::kAttention); }
  }
  EXPECT_EQ(profile.of(Part::kOther).seconds, 8);
  EXPECT_EQ(profile.of(Part::kForwardMatmul).seconds, 8);
  EXPECT_EQ(profile.of(Part::kAttention).seconds, 4);
  EXPECT_EQ(profile.flops(), 200);
  ASSERT_EQ(trace.size(), 10u);
  EXPECT_EQ(trace[1].name, "forward matmul");
  EXPECT_EQ(trace[1].end - trace[1].begin, std::chrono::seconds(2));
  EXPECT_EQ(trace[2].begin, trace[1].end);
}

TEST(StepProfileTest, ADevicesMarksAreBoundedAndABrokenOneHasNoTimes) {
  StepProfile profile;
  TwoSeconds clock;
  {
    const ProfileCollection collecting(&profile, nullptr, &clock);
    for (int i = 0; i < 10000; ++i) {
      const PartScope scope(Part::kHead);
      ASSERT_LE(clock.marks, 5000);
    }
  }
  EXPECT_EQ(profile.of(Part::kHead).seconds, 20000);
  EXPECT_GT(clock.waits, 3);
  clock.broken = true;
  profile = {};
  {
    const ProfileCollection collecting(&profile, nullptr, &clock);
    const PartScope scope(Part::kHead, 7);
  }
  EXPECT_EQ(profile.seconds(), 0);
  EXPECT_EQ(profile.flops(), 7);
}

TEST(StepProfileTest, EveryPartHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i < kParts; ++i) names.insert(NameOf(static_cast<Part>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kParts));
  EXPECT_EQ(names.count("?"), 0u);
}

}  // namespace
}  // namespace whetstone
