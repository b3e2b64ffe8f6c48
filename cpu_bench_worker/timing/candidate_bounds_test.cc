#include "cpu_bench_worker/timing/candidate_bounds.h"

#include <gtest/gtest.h>

#include <vector>

namespace whetstone {
namespace {

constexpr CallEstimate kTenMicroseconds{.reference_ns = 80e3, .candidate_ns = 10e3};

TEST(CandidateBoundsTest, AWarmUpIsBoundedByWhatFollows) {
  CandidateBounds bounds(2);
  bounds.BeginPair();
  bounds.WarmedUp(0, 5e3, 1);
  bounds.WarmedUp(1, 150e6, 1);
  for (const size_t size : {0u, 1u}) bounds.Timed(size, 8e3, 4e3);
  std::vector<CallShape> sizes(2);
  sizes[0].size["n"] = 64;
  sizes[1].size["n"] = 96;
  EXPECT_FALSE(bounds.WarmUpTooLong(sizes).has_value()) << "pages and small tables take a while";
  bounds.WarmedUp(1, 4e9, 35);
  const auto failure = bounds.WarmUpTooLong(sizes);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->outcome, v1::TIMEOUT);
  EXPECT_EQ(failure->detail, "took 4.000 s when it was first called at n=96 and 0.000140 s later");
  bounds.Timed(1, 8e3, 250e6);
  EXPECT_FALSE(bounds.WarmUpTooLong(sizes).has_value()) << "what is slow all the time is charged";
  bounds.BeginPair();
  bounds.WarmedUp(1, 4e9, 35);
  bounds.Timed(1, 8e3, 4e3);
  EXPECT_TRUE(bounds.WarmUpTooLong(sizes).has_value())
      << "samples of an earlier process are no excuse";
}

TEST(CandidateBoundsTest, WhoIsSlowOnlyWhileItIsSettledIsSettledAgain) {
  CandidateBounds bounds(1);
  bounds.BeginPair();
  bounds.BeginSettling();
  bounds.Settled(0, kTenMicroseconds);
  bounds.Timed(0, 80e3, 7e3);
  EXPECT_FALSE(bounds.SettledTooSlow()) << "scatter";
  bounds.Timed(0, 80e3, 6e3);
  EXPECT_TRUE(bounds.SettledTooSlow());
  EXPECT_EQ(bounds.Shortest(0).candidate_ns, 6e3);
  EXPECT_EQ(bounds.Shortest(0).reference_ns, 80e3);
  bounds.Timed(0, 50e3, 6e3);
  EXPECT_FALSE(bounds.SettledTooSlow()) << "both are faster: the machine was slow";
}

TEST(CandidateBoundsTest, SettlingEnds) {
  CandidateBounds bounds(1);
  int settlings = 0;
  for (bool again = true; again; ++settlings) {
    ASSERT_LE(settlings, kSettlingsMax);
    bounds.BeginPair();
    bounds.BeginSettling();
    bounds.Settled(0, kTenMicroseconds);
    bounds.Timed(0, 80e3, 1e3);
    again = bounds.SettledTooSlow();
  }
  EXPECT_EQ(settlings, kSettlingsMax);
}

}  // namespace
}  // namespace whetstone
