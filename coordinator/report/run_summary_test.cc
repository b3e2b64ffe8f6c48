#include "coordinator/report/run_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunSummary WithRewards(const std::vector<double>& rewards) {
  RunSummary summary;
  summary.name = "r";
  summary.steps_total = 40;
  for (const double reward : rewards) summary.rows.push_back({{"reward", reward}});
  summary.steps_done = static_cast<int64_t>(rewards.size());
  return summary;
}

// No step is both among the first and among the last.
TEST(RunSummaryTest, BeginningAndEndAreDifferentSteps) {
  EXPECT_EQ(RewardText(WithRewards({-0.495})), "-0.495 (one step)");
  EXPECT_EQ(RewardText(WithRewards({-0.5, 0.5})), "-0.500 (first step) → 0.500 (last)");
  EXPECT_EQ(RewardText(WithRewards({-0.5, 9, 0.5})), "-0.500 (first step) → 0.500 (last)");
  EXPECT_EQ(RewardText(WithRewards({1, 2, 9, 3, 4})), "1.500 (first 2 steps) → 3.500 (last 2)");
  EXPECT_EQ(RewardText(WithRewards({1, 2, 3, 9, 9, 5, 6, 7})),
            "2.000 (first 3 steps) → 6.000 (last 3)");
  EXPECT_THAT(SummaryText(WithRewards({-0.495})), HasSubstr("\nreward -0.495 (one step)"));
  EXPECT_THAT(SummaryText(WithRewards({-0.495})), Not(HasSubstr("→")));
  EXPECT_THAT(SummaryText(WithRewards({})), Not(HasSubstr("reward")));
}

TEST(RunSummaryTest, WhatKeepsItFromLearningIsTold) {
  RunSummary summary = WithRewards({0});
  EXPECT_TRUE(SummaryJson(summary)["health"].empty());
  summary.health = {{"cut_off", "100 % were cut off", "raise it"}};
  EXPECT_THAT(SummaryText(summary), HasSubstr("\n! 100 % were cut off: raise it"));
  EXPECT_EQ(SummaryJson(summary)["health"].dump(),
            R"([{"kind":"cut_off","what":"100 % were cut off","advice":"raise it"}])");
}

TEST(RunSummaryTest, EvaluationsAreToldFirstAndLast) {
  RunSummary summary = WithRewards({0.1});
  EXPECT_THAT(SummaryText(summary), Not(HasSubstr("evaluation")));
  EXPECT_TRUE(SummaryJson(summary)["evaluations"].empty());
  summary.eval_rows[0] = {{"eval/correct", 0.03}, {"eval/fast_1.5", 0}, {"eval/best", 1.02}};
  EXPECT_THAT(SummaryText(summary),
              HasSubstr("\nevaluation correct 3%, at least 1.5x 0%, best 1.02x (step 0)"));
  EXPECT_THAT(SummaryText(summary), Not(HasSubstr("→")));
  summary.eval_rows[10] = summary.eval_rows[0];
  summary.eval_rows[20] = {{"eval/correct", 0.12}, {"eval/fast_1.5", 0.05}, {"eval/best", 1.2}};
  EXPECT_THAT(SummaryText(summary),
              HasSubstr("(step 0) → correct 12%, at least 1.5x 5%, best 1.20x (step 20)"));
  EXPECT_EQ(SummaryJson(summary)["evaluations"][2]["step"], 20);
  EXPECT_EQ(SummaryJson(summary)["evaluations"][2]["eval/correct"], 0.12);
  summary.steps_done = summary.steps_total;
  EXPECT_TRUE(summary.done());
  summary.evaluating = true;
  EXPECT_FALSE(summary.done());
}

TEST(RunSummaryTest, WhetherItRunsOrIsPausedIsTold) {
  RunSummary summary = WithRewards({0.1});
  EXPECT_THAT(SummaryText(summary), HasSubstr("r: stopped, steps 1/40"));
  summary.owner.emplace();
  summary.owner->pid = 12;
  EXPECT_THAT(SummaryText(summary), HasSubstr("r: running ("));
  EXPECT_TRUE(SummaryJson(summary)["paused_since_us"].is_null());
  summary.paused_since = absl::FromUnixSeconds(1'785'074'580);
  EXPECT_THAT(SummaryText(summary), HasSubstr("r: paused since 2026-07-26 14:03 UTC (process 12"));
  EXPECT_STREQ(summary.state(), "paused");
  EXPECT_EQ(SummaryJson(summary)["paused_since_us"], 1'785'074'580'000'000);
  summary.owner->claim = "RUN/lock.host";
  EXPECT_THAT(SummaryText(summary), HasSubstr("r: may be paused since 2026-07-26 14:03 UTC ("));
  EXPECT_STREQ(summary.state(), "unknown");
}

TEST(RunSummaryTest, WhereItCameFromAndWhatWasChangedIsTold) {
  RunSummary summary = WithRewards({0.1});
  EXPECT_TRUE(SummaryJson(summary)["origin"].is_null());
  EXPECT_TRUE(SummaryJson(summary)["changes"].empty());
  summary.origin = "a fork of r-01234567 at step 20";
  summary.changes = {{{21, "train.lr", "1e-05", "2e-06"}, 1'785'074'580'000'000}};
  EXPECT_THAT(SummaryText(summary),
              HasSubstr("\nfrom step 21: train.lr 1e-05 -> 2e-06 (2026-07-26 14:03 UTC)"
                        "\na fork of r-01234567 at step 20"));
  EXPECT_EQ(SummaryJson(summary)["origin"], summary.origin);
  EXPECT_EQ(SummaryJson(summary)["changes"].dump(),
            R"([{"step":21,"key":"train.lr","before":"1e-05","after":"2e-06",)"
            R"("time_us":1785074580000000}])");
}

}  // namespace
}  // namespace whetstone
