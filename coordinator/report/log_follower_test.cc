#include "coordinator/report/log_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"

namespace whetstone {
namespace {

class LogFollowerTest : public testing::Test {
 protected:
  void Append(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }

  const TempDir folder_ = *TempDir::Make("log");
  const std::string path_ = folder_.path() + "/whet.log";
};

TEST_F(LogFollowerTest, TheLastLinesThenWhatIsWritten) {
  Append("one\ntwo\n\nthree\n");
  LogFollower log(path_);
  EXPECT_EQ(*log.Last(1), "three\n");
  EXPECT_EQ(*log.Last(2), "\nthree\n");
  EXPECT_EQ(*log.Last(3), "two\n\nthree\n");
  EXPECT_EQ(*log.Last(100), "one\ntwo\n\nthree\n");
  EXPECT_EQ(*log.Last(0), "");
  EXPECT_EQ(*log.More(), "");
  Append("fo");
  EXPECT_EQ(*log.More(), "fo");
  Append("ur\n");
  EXPECT_EQ(*log.More(), "ur\n");
  EXPECT_EQ(*log.More(), "");
  ASSERT_TRUE(WriteFileAtomically(path_, "anew\n").ok());
  EXPECT_EQ(*log.More(), "anew\n") << "it was begun again";
}

TEST_F(LogFollowerTest, ALineThatIsNotEndedIsOne) {
  Append("one\ntw");
  LogFollower log(path_);
  EXPECT_EQ(*log.Last(1), "tw");
  EXPECT_EQ(*log.Last(2), "one\ntw");
}

TEST_F(LogFollowerTest, ALongFileIsReadFromItsEnd) {
  std::string text;
  for (int i = 0; i < 400'000; ++i) absl::StrAppend(&text, "line ", i, "\n");
  Append(text);
  LogFollower log(path_);
  EXPECT_EQ(*log.Last(2), "line 399998\nline 399999\n");
  EXPECT_EQ(*log.Last(1'000'000), text);
}

TEST_F(LogFollowerTest, WhatIsNotThereIsAnErrorAndTheOthersAreNamed) {
  LogFollower log(path_);
  EXPECT_TRUE(absl::IsNotFound(log.Last(3).status())) << log.Last(3).status();
  EXPECT_THAT(LogsIn(folder_.path()), testing::IsEmpty());
  Append("x\n");
  std::ofstream(folder_.path() + "/trainer.log") << "y";
  std::ofstream(folder_.path() + "/usage.jsonl") << "y";
  EXPECT_THAT(LogsIn(folder_.path()), testing::ElementsAre("trainer", "whet"));
  EXPECT_THAT(LogsIn(folder_.path() + "/none"), testing::IsEmpty());
}

}  // namespace
}  // namespace whetstone
