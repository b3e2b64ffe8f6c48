#include "coordinator/discover/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace whetstone {
namespace {

using testing::HasSubstr;

TEST(BudgetTest, TimeAndCandidatesAreTaken) {
  EXPECT_EQ(ParseBudget("90s")->seconds, 90);
  EXPECT_EQ(ParseBudget("20m")->seconds, 1200);
  EXPECT_EQ(ParseBudget(" 1.5 h ")->seconds, 5400);
  EXPECT_EQ(ParseBudget("2000 candidates")->candidates, 2000);
  EXPECT_EQ(ParseBudget("2000candidates")->candidates, 2000);
  EXPECT_FALSE(ParseBudget("2000 candidates")->seconds.has_value());
}

TEST(BudgetTest, WhatIsNoneIsRefused) {
  for (const char* wrong : {"", "m", "20", "20 minutes", "-5m", "0s", "3 candidates", "1e9h",
                            "nanm", "100.5 candidates", "1..5h", "200000000 candidates"}) {
    const absl::StatusOr<Budget> budget = ParseBudget(wrong);
    ASSERT_FALSE(budget.ok()) << wrong;
    EXPECT_THAT(std::string(budget.status().message()), HasSubstr("write 90s, 20m"));
  }
}

TEST(BudgetTest, RulesHaveAFifth) {
  EXPECT_EQ(ShareOfRules({.seconds = 100, .candidates = {}}).seconds, 20);
  EXPECT_EQ(ShareOfRules({.seconds = 3600, .candidates = {}}).seconds, 120);
  EXPECT_EQ(ShareOfRules({.seconds = {}, .candidates = 1000}).candidates, 200);
  EXPECT_EQ(ShareOfRules({.seconds = {}, .candidates = 100000}).candidates, 400);
}

TEST(BudgetTest, StepsFillWhatIsLeft) {
  EXPECT_EQ(PlannedSteps({.seconds = {}, .candidates = 1000}, 16, {20, 8}), 50);
  EXPECT_EQ(PlannedSteps({.seconds = 900, .candidates = {}}, 16, {20, 8}), 31);
  EXPECT_EQ(PlannedSteps({.seconds = 10, .candidates = {}}, 16, {20, 8}), 4);
}

}  // namespace
}  // namespace whetstone
