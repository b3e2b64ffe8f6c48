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

TEST(RecentlyUsedTest, ValuesGoByWhatTheyCost) {
  Table table(10);
  table.Add("a", Value("1"), 4);
  table.Add("b", Value("2"), 4);
  table.Add("c", Value("3"), 7);
  EXPECT_EQ(table.Find("a"), nullptr);
  EXPECT_EQ(table.Find("b"), nullptr) << "4 and 7 are too much";
  table.Add("d", Value("4"), 3);
  EXPECT_NE(table.Find("c"), nullptr);
  EXPECT_NE(table.Find("d"), nullptr);
  table.Add("e", Value("5"), 99);
  EXPECT_EQ(*table.Find("e"), "5") << "the last one stays";
  EXPECT_EQ(table.Find("c"), nullptr);
  table.Erase("e");
  table.Add("f", Value("6"), 10);
  EXPECT_NE(table.Find("f"), nullptr) << "what was erased costs nothing";
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
