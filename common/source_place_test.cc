#include "common/source_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace whetstone {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns the excerpt of an error in this line.
std::string Excerpt(const std::string& line, size_t column) {
  return ExcerptOf(ErrorAt({"f.yaml:12", line, 12, column}, "is wrong"));
}

TEST(SourcePlaceTest, TheLineComesWithTheMessage) {
  const absl::Status status =
      ErrorAt({"f.yaml:4", "train: {lr: 0}", 4, 8}, "'train.lr' is 0", absl::StatusCode::kNotFound);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "f.yaml:4: 'train.lr' is 0");
  EXPECT_EQ(ExcerptOf(status), "    4 | train: {lr: 0}\n      |         ^");
  EXPECT_EQ(WithExcerpt(status), std::string(status.message()) + "\n" + ExcerptOf(status));
}

TEST(SourcePlaceTest, WhatHasNoLineShowsNone) {
  const absl::Status status = ErrorAt({"--set a=1", "", 0, 0}, "is wrong");
  EXPECT_EQ(ExcerptOf(status), "");
  EXPECT_EQ(WithExcerpt(status), "--set a=1: is wrong");
}

TEST(SourcePlaceTest, TheCaretCountsCharacters) {
  EXPECT_EQ(Excerpt("é: x", 4), "   12 | é: x\n      |    ^");
  EXPECT_EQ(Excerpt("\tx", 1), "   12 |  x\n      |  ^") << "a tab is one space in both lines";
  EXPECT_EQ(Excerpt("a: ", 3), "   12 | a: \n      |    ^") << "behind the last character";
  EXPECT_EQ(Excerpt("a", 99), "   12 | a\n      |  ^") << "and no further";
}

TEST(SourcePlaceTest, NothingInItReachesTheTerminal) {
  EXPECT_EQ(Excerpt("a\033[2Jb", 5), "   12 | a\uFFFD[2Jb\n      |      ^");
  EXPECT_THAT(Excerpt("a\u202Eb", 0), Not(HasSubstr("\u202E")));
  EXPECT_THAT(Excerpt("a\xFFz", 0), HasSubstr("a\uFFFDz"));
}

TEST(SourcePlaceTest, OfALongLineThePartAroundTheCaretIsShown) {
  const std::string line = std::string(200, 'a') + "B" + std::string(200, 'c');
  const std::string excerpt = Excerpt(line, 200);
  const size_t newline = excerpt.find('\n');
  ASSERT_NE(newline, std::string::npos);
  EXPECT_EQ(excerpt.substr(0, newline),
            "   12 | …" + std::string(50, 'a') + "B" + std::string(49, 'c') + "…");
  EXPECT_EQ(excerpt.substr(newline + 1), "      | " + std::string(51, ' ') + "^");
  EXPECT_THAT(Excerpt(line, 0), HasSubstr("   12 | aaaa"));
  EXPECT_THAT(Excerpt(line, 0), EndsWith("\n      | ^"));
}

}  // namespace
}  // namespace whetstone
