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

}  // namespace
}  // namespace whetstone
