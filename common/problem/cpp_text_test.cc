#include "common/problem/cpp_text.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

TEST(MaskedCppTest, OnlyCodeIsLeft) {
  const std::string code =
      "a /* b */ c = \"x // \\\" y\"; // d\n  # define E \\\n 1\nf('\\'', 1'0);";
  const auto blank = [](size_t n) { return std::string(n, ' '); };
  EXPECT_EQ(MaskedCpp(code),
            absl::StrCat("a", blank(9), "c = \"", blank(9), "\";", blank(5), "\n", blank(14), "\n",
                         blank(2), "\nf('", blank(2), "', 1'0);"));
  EXPECT_EQ(MaskedCpp("a /* b").size(), 6u);
  EXPECT_EQ(MaskedCpp("\"b").size(), 2u);
  EXPECT_EQ(MaskedCpp("\"b\\").size(), 3u);
}

TEST(LineAtTest, CountsFromOne) {
  EXPECT_EQ(LineAt("a\nb", 0), 1);
  EXPECT_EQ(LineAt("a\nb", 1), 1);
  EXPECT_EQ(LineAt("a\nb", 2), 2);
}

}  // namespace
}  // namespace whetstone
