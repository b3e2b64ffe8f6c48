#include "coordinator/discover/telling_answers.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(QuotedLettersTest, AreThoseOfCode) {
  EXPECT_EQ(QuotedLetters("if (c == 'T' || c == 'A') return set[\"CG\"];"), "ACGT");
  EXPECT_EQ(QuotedLetters("strchr(\" \\t\\n\", c) && c != '\\''"), " ");
  EXPECT_EQ(QuotedLetters("// It doesn't\n'x'"), "x");
}

TEST(QuotedLettersTest, AreNotThoseOfIncludesNumbersAndApostrophes) {
  EXPECT_EQ(QuotedLetters("#include \"zeta.h\"\nint n = 1'000'000;  // that's not one's\n"), "");
  EXPECT_EQ(QuotedLetters(""), "");
}

}  // namespace
}  // namespace whetstone
