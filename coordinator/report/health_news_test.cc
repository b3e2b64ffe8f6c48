#include "coordinator/report/health_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/report/health_limits.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(HealthNewsTest, EachIsToldOnce) {
  HealthNews news;
  const HealthFinding a{"odd_worker", "37 % fail", "look", "cpu01"};
  HealthFinding again = a;
  again.what = "38 % fail";
  const HealthFinding b{"odd_worker", "41 % fail", "look", "cpu02"};
  EXPECT_THAT(news.Of({a}), SizeIs(1));
  EXPECT_THAT(news.Of({again}), IsEmpty()) << "its number changes only";
  const auto told = news.Of({again, b});
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].subject, "cpu02");
}

TEST(HealthNewsTest, WhatComesAndGoesIsToldAgainAfterAWhile) {
  HealthNews news;
  const HealthFinding finding{"cut_off", "50 %", "raise it"};
  EXPECT_THAT(news.Of({finding}), SizeIs(1));
  for (int look = 1; look < kHealthQuietLooks; ++look) EXPECT_THAT(news.Of({}), IsEmpty());
  EXPECT_THAT(news.Of({finding}), IsEmpty()) << "it was gone for too short a time";
  for (int look = 0; look < kHealthQuietLooks; ++look) EXPECT_THAT(news.Of({}), IsEmpty());
  EXPECT_THAT(news.Of({finding}), SizeIs(1));
}

TEST(HealthLimitsTest, ThePageHasEveryAlarm) {
  const std::string page = *ReadFile(SourceDir() + "/docs/operating.md");
  for (const char* kind : kHealthKinds) {
    EXPECT_THAT(page, HasSubstr(std::string("\n| `") + kind + "` | ")) << kind;
  }
}

}  // namespace
}  // namespace whetstone
