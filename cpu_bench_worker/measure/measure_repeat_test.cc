// What the measurer has answered once it does not measure again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/problem/problem_hash.h"
#include "cpu_bench_worker/measure/measure_testing.h"
#include "cpu_bench_worker/problem/test_problems.h"
#include "cpu_bench_worker/stats/plan.h"

namespace whetstone {
namespace {

TEST_F(MeasureTest, TheSameTextIsBuiltOnce) {
  const std::string source = Matmul("c[0] = 5;");
  const v1::Verdict first = Measure("text/1", source), second = Measure("text/2", source);
  EXPECT_GT(first.compile_s(), 0);
  EXPECT_EQ(second.compile_s(), 0);
  EXPECT_EQ(second.screen_s(), 0);
  EXPECT_GT(first.stage_times().build_us(), 0);
  EXPECT_EQ(second.stage_times().build_us(), 0);
  EXPECT_EQ(second.outcome(), first.outcome());
  EXPECT_EQ(second.canonical_hash(), first.canonical_hash());
}

TEST_F(MeasureTest, AFasterProgramIsFasterAndEqualMachineCodeIsCached) {
  const v1::Verdict verdict = Measure("fast", kMatmulIkj, true);
  EXPECT_EQ(verdict.outcome(), v1::CORRECT) << verdict.detail();
  EXPECT_GT(verdict.speedup(), 2.0);
  EXPECT_FALSE(verdict.cached());
  EXPECT_THAT(verdict.techniques(), testing::ElementsAre("restrict"));
  // With other names and a comment it is the same machine code.
  std::string renamed = kMatmulIkj;
  for (size_t at; (at = renamed.find("float x")) != std::string::npos;)
    renamed.replace(at, 7, "float weight");
  for (size_t at; (at = renamed.find("+= x")) != std::string::npos;)
    renamed.replace(at, 4, "+= weight");
  renamed = "// another program\n" + renamed;
  const v1::Verdict again = Measure("renamed", renamed, true);
  EXPECT_TRUE(again.cached());
  EXPECT_EQ(again.candidate_id(), "renamed");
  EXPECT_EQ(again.speedup(), verdict.speedup());
  EXPECT_GE(again.stage_times().build_us(), verdict.stage_times().reached_us());
  EXPECT_EQ(again.stage_times().time_us(), 0) << "it was not timed";
  EXPECT_EQ(again.canonical_hash(), verdict.canonical_hash());
  // Challengers are measured again all the same.
  v1::MeasureRequest fresh = Request("challenger", renamed, true);
  fresh.set_fresh(true);
  const auto challenger = measurer_->Measure(fresh);
  ASSERT_TRUE(challenger.ok()) << challenger.status();
  EXPECT_FALSE(challenger->cached());
}

TEST_F(MeasureTest, WhatIsBelowTheLeastIsTimedToItsEndForWhoeverAsksForLess) {
  const std::string as_fast = Matmul(
      "for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) { float s = 0;"
      " for (int k = 0; k < n; ++k) s += a[i * n + k] * b[k * n + j]; c[i * n + j] = s * 2 * 0.5f; "
      "}");
  const auto at_least = [&](double least, const std::string& id) {
    v1::MeasureRequest request = Request(id, as_fast, true);
    request.set_least_speedup(least);
    const auto verdict = measurer_->Measure(request);
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    EXPECT_EQ(verdict->outcome(), v1::CORRECT) << verdict->detail();
    return *verdict;
  };
  const v1::Verdict far = at_least(10, "far");
  EXPECT_TRUE(far.below_least());
  EXPECT_TRUE(far.stopped_early());
  EXPECT_LT(far.speedup_high(), 10);
  EXPECT_TRUE(at_least(20, "farther").cached());
  const v1::Verdict whole = at_least(0, "whole");
  EXPECT_FALSE(whole.cached());
  EXPECT_FALSE(whole.below_least());
  EXPECT_GE(whole.process_pairs(), kProcessPairs);
  EXPECT_TRUE(at_least(10, "again").cached());
  EXPECT_FALSE(at_least(10, "and again").below_least()) << "the better of both is kept";
}

TEST_F(MeasureTest, CheckingFirstAndTimingLaterIsOneCandidate) {
  const std::string source = Matmul(
      "for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) { float s = 0;"
      " for (int k = 0; k < n; ++k) s += a[i * n + k] * b[k * n + j]; c[i * n + j] = s + 0.0f; }");
  const v1::Verdict checked = Measure("two_steps", source, false);
  EXPECT_EQ(checked.outcome(), v1::CORRECT) << checked.detail();
  EXPECT_FALSE(checked.timed());
  const v1::Verdict timed = Measure("two_steps", source, true);
  EXPECT_EQ(timed.outcome(), v1::CORRECT) << timed.detail();
  EXPECT_TRUE(timed.timed());
  EXPECT_EQ(timed.compile_s(), checked.compile_s()) << "compiled once";
  const v1::StageTimes& stages = timed.stage_times();
  EXPECT_EQ(stages.build_us(), checked.stage_times().build_us());
  EXPECT_EQ(stages.check_us(), checked.stage_times().check_us());
  EXPECT_LT(stages.build_us(), stages.check_us());
  EXPECT_LE(checked.stage_times().reached_us(), stages.time_us());
  EXPECT_LT(stages.time_us(), stages.reached_us());
  EXPECT_GE(stages.check_slot(), 0);
  EXPECT_GE(stages.time_slot(), 0);
  // A third call returns the verdict already reached, to the last bit.
  EXPECT_EQ(Measure("two_steps", source, true).SerializeAsString(), timed.SerializeAsString());
}

}  // namespace
}  // namespace whetstone
