#include "cpu_bench_worker/stats/plan.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(PlanTest, ARequestLastsLongEnough) {
  EXPECT_EQ(CallsPerRequest({1e6, 1e6}, 0, 1000, 300e3), 1) << "long kernels: one call";
  EXPECT_EQ(CallsPerRequest({100e3, 100e3}, 0, 1000, 300e3), 3);
  EXPECT_EQ(CallsPerRequest({115e3, 115e3}, 15e3, 1000, 300e3), 3) << "waking is not work";
}

TEST(PlanTest, AFastCandidateGetsMoreCallsUpToALimit) {
  EXPECT_EQ(CallsPerRequest({300e3, 60e3}, 0, 1000, 300e3), 5);
  EXPECT_EQ(CallsPerRequest({300e3, 60e3}, 0, 1000, 100e3), 2);
  EXPECT_EQ(CallsPerRequest({300e3, 1e3}, 0, 1000, 300e3), 10)
      << "the reference's invocation stays under 3 ms";
}

TEST(PlanTest, MemoryAndCallsAreBounded) {
  EXPECT_EQ(CallsPerRequest({100, 100}, 1e6, 8, 300e3), kCallsMax);
  EXPECT_EQ(CallsPerRequest({10e3, 10e3}, 0, kBatchBytesMax / 4, 300e3), 4);
  EXPECT_EQ(CallsPerRequest({10e3, 10e3}, 0, kBatchBytesMax * 2, 300e3), 1);
}

TEST(PlanTest, SamplesFitTheBudget) {
  EXPECT_EQ(SamplesPerPair(1e6, 20e9, kSamplesMax), kSamplesMax);
  EXPECT_EQ(SamplesPerPair(1e6, 20e9, kSamplesMaxFar), kSamplesMaxFar);
  EXPECT_EQ(SamplesPerPair(100e6, 8e9, kSamplesMax), 5);
  EXPECT_EQ(SamplesPerPair(1e9, 1e9, kSamplesMaxFar), kSamplesMin);
}

TEST(PlanTest, FarMeansAtEverySize) {
  EXPECT_TRUE(
      FarApart({{.reference_ns = 9, .candidate_ns = 4}, {.reference_ns = 4, .candidate_ns = 9}}));
  EXPECT_FALSE(
      FarApart({{.reference_ns = 9, .candidate_ns = 4}, {.reference_ns = 9, .candidate_ns = 8}}));
}

}  // namespace
}  // namespace whetstone
