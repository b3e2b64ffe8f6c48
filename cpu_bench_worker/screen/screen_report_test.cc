#include "cpu_bench_worker/screen/screen_report.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(ScreenReportTest, OurOwnFailureIsNotTheCandidates) {
  const auto report = ParseScreenReport(R"({"error": "screener: fork: out of memory"})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->outcome, v1::OUTCOME_UNSPECIFIED);
  EXPECT_EQ(report->status.message(), "screener: fork: out of memory");
}

TEST(ScreenReportTest, AnOutcomeThatNoScreenGivesIsOutsideTheProtocol) {
  EXPECT_FALSE(ParseScreenReport(R"({"outcome": 8})").ok()) << "CORRECT";
  const auto refused = ParseScreenReport(R"({"outcome": 2, "detail": "line 1: exit"})");
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_TRUE(refused->status.ok());
  EXPECT_EQ(refused->detail, "line 1: exit");
}

}  // namespace
}  // namespace whetstone
