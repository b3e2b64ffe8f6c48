#include "cpu_bench_worker/measure/recently_used.h"

#include <gtest/gtest.h>

#include "cpu_bench_worker/build/readable_file.h"

namespace whetstone {
namespace {

using Table = RecentlyUsed<const std::string>;

Table::Held Value(const std::string& text) { return std::make_shared<const std::string>(text); }

TEST(RecentlyUsedTest, TheLeastRecentlyUsedGoesFirst) {
  Table table(2);
  table.Add("a", Value("1"));
  table.Add("b", Value("2"));
  EXPECT_EQ(*table.Find("a"), "1");
  table.Add("c", Value("3"));
  EXPECT_EQ(table.Find("b"), nullptr);
  EXPECT_NE(table.Find("a"), nullptr);
  EXPECT_NE(table.Find("c"), nullptr);
  table.Add("b", Value("4"));
  EXPECT_EQ(table.Find("a"), nullptr);
  EXPECT_EQ(*table.Find("b"), "4");
}

TEST(RecentlyUsedTest, WhoUsesOneThatWentHoldsIt) {
  Table table(1);
  table.Add("a", Value("1"));
  const Table::Held held = table.Find("a");
  table.Add("b", Value("2"));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, "1");
}

TEST(RecentlyUsedTest, WhatIsErasedLeavesRoom) {
  Table table(2);
  table.Add("a", Value("1"));
  table.Add("b", Value("2"));
  table.Erase("b");
  table.Erase("nobody");
  table.Add("c", Value("3"));
  EXPECT_EQ(*table.Find("a"), "1");
  EXPECT_EQ(table.Find("b"), nullptr);
}

TEST(OwnedFolderTest, IsItsOwnAndGoesWithItsOwner) {
  const TempDir dir = *TempDir::Make("owned");
  std::string first;
  {
    const auto a = OwnedFolder::Make(dir.path() + "/x"), b = OwnedFolder::Make(dir.path() + "/x");
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_NE((*a)->path(), (*b)->path());
    first = (*a)->path();
    ASSERT_TRUE(WriteReadableFile(first + "/file", "text").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(first));
}

}  // namespace
}  // namespace whetstone
