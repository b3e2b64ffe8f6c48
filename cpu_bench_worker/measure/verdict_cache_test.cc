#include "cpu_bench_worker/measure/verdict_cache.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

v1::Verdict Of(const std::string& object) {
  v1::Verdict verdict;
  verdict.set_problem_hash("p");
  verdict.set_object_hash(object);
  return verdict;
}

v1::Verdict Faster(const std::string& object, double speedup, bool below_least) {
  v1::Verdict verdict = Of(object);
  verdict.set_outcome(v1::CORRECT);
  verdict.set_speedup(speedup);
  verdict.set_speedup_high(1.1 * speedup);
  verdict.set_below_least(below_least);
  verdict.set_canonical_hash("its source");
  verdict.mutable_stage_times()->set_time_us(5);
  return verdict;
}

// Returns the speedup that is found; 0: none.
double Found(VerdictCache* cache, const std::string& object, double least_speedup) {
  v1::Verdict verdict = Of(object);
  verdict.set_canonical_hash("another source");
  verdict.mutable_stage_times()->set_build_us(7);
  if (!cache->Find(least_speedup, &verdict)) return 0;
  EXPECT_TRUE(verdict.cached());
  EXPECT_EQ(verdict.canonical_hash(), "another source");
  EXPECT_EQ(verdict.stage_times().build_us(), 7) << "it was compiled by itself,";
  EXPECT_EQ(verdict.stage_times().time_us(), 0) << "and timed with the other";
  return verdict.speedup();
}

TEST(VerdictCacheTest, EqualMachineCodeHasTheSameVerdict) {
  VerdictCache cache(2);
  EXPECT_EQ(Found(&cache, "a", 0), 0);
  cache.Add(Faster("a", 2, false));
  EXPECT_EQ(Found(&cache, "a", 0), 2);
  EXPECT_EQ(Found(&cache, "b", 0), 0);
  v1::Verdict late = Of("b");
  late.set_outcome(v1::TIMEOUT);
  cache.Add(late);
  EXPECT_EQ(Found(&cache, "b", 0), 0) << "a disturbed machine may have caused it";
}

TEST(VerdictCacheTest, WhatIsBelowTheLeastAnswersWhoeverAsksForMore) {
  VerdictCache cache(2);
  cache.Add(Faster("a", 2, true));
  EXPECT_EQ(Found(&cache, "a", 3), 2);
  EXPECT_EQ(Found(&cache, "a", 2.2), 0) << "it may be that fast";
  EXPECT_EQ(Found(&cache, "a", 0), 0);
}

TEST(VerdictCacheTest, AWholeVerdictIsTheBetterOne) {
  VerdictCache cache(2);
  cache.Add(Faster("a", 2.0, true));
  cache.Add(Faster("a", 2.1, true));
  EXPECT_EQ(Found(&cache, "a", 9), 2.1) << "of two that are not the later";
  cache.Add(Faster("a", 2.2, false));
  EXPECT_EQ(Found(&cache, "a", 9), 2.2);
  cache.Add(Faster("a", 2.3, true));
  EXPECT_EQ(Found(&cache, "a", 0), 2.2);
  cache.Add(Faster("a", 2.4, false));
  EXPECT_EQ(Found(&cache, "a", 0), 2.4);
}

}  // namespace
}  // namespace whetstone
