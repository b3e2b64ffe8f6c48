#include "coordinator/discover/verdict_log.h"

#include <gtest/gtest.h>

#include "common/file.h"

namespace whetstone {
namespace {

class VerdictLogTest : public testing::Test {
 protected:
  std::string Path() const { return dir_->path() + "/log"; }
  VerdictLog Open(const std::string& key) const {
    absl::StatusOr<VerdictLog> log = VerdictLog::Open(Path(), key);
    EXPECT_TRUE(log.ok()) << log.status();
    return std::move(*log);
  }
  static v1::Verdict Faster(double speedup) {
    v1::Verdict verdict;
    verdict.set_outcome(v1::CORRECT);
    verdict.set_speedup(speedup);
    return verdict;
  }

  absl::StatusOr<TempDir> dir_ = TempDir::Make("verdict-log");
};

TEST_F(VerdictLogTest, TheNextProcessKnowsWhatThisOneMeasured) {
  {
    VerdictLog log = Open("problem host");
    EXPECT_EQ(log.Find("a"), nullptr);
    ASSERT_TRUE(log.Add("a", Faster(2)).ok());
    ASSERT_TRUE(log.Add("b\nc", Faster(3)).ok());
  }
  const VerdictLog log = Open("problem host");
  ASSERT_NE(log.Find("a"), nullptr);
  EXPECT_EQ(log.Find("a")->speedup(), 2);
  ASSERT_NE(log.Find("b\nc"), nullptr);
  EXPECT_EQ(log.size(), 2u);
  EXPECT_EQ(Open("problem other-host").Find("a"), nullptr);
}

TEST_F(VerdictLogTest, WhatWasNotTimedToItsEndAnswersWhoeverAsksForMore) {
  {
    VerdictLog log = Open("k");
    v1::Verdict below = Faster(2);
    below.set_below_least(true);
    below.set_speedup_high(2.1);
    ASSERT_TRUE(log.Add("a", below).ok());
    EXPECT_NE(log.Find("a", 2.2), nullptr);
    EXPECT_EQ(log.Find("a", 2.1), nullptr);
    EXPECT_EQ(log.Find("a"), nullptr);
    ASSERT_TRUE(log.Add("a", Faster(2.05)).ok());
  }
  const VerdictLog log = Open("k");
  ASSERT_NE(log.Find("a"), nullptr);
  EXPECT_EQ(log.Find("a")->speedup(), 2.05);
  EXPECT_EQ(log.size(), 1u);
}

TEST_F(VerdictLogTest, HalfALineIsForgottenAndTheNextOneIsWhole) {
  ASSERT_TRUE(Open("k").Add("a", Faster(2)).ok());
  const std::string whole = *ReadFile(Path());
  ASSERT_TRUE(WriteFileAtomically(Path(), whole + whole.substr(0, whole.size() / 2)).ok());
  {
    VerdictLog log = Open("k");
    EXPECT_EQ(log.size(), 1u);
    ASSERT_TRUE(log.Add("b", Faster(3)).ok());
  }
  EXPECT_EQ(Open("k").size(), 2u);
  std::string damaged = whole;
  damaged[whole.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(Path(), "no base64 %%%\n" + damaged).ok());
  EXPECT_EQ(Open("k").size(), 0u);
  ASSERT_TRUE(WriteFileAtomically(Path(), "no base64 %%%\n" + whole).ok());
  EXPECT_EQ(Open("k").size(), 1u);
}

}  // namespace
}  // namespace whetstone
