#include "cpu_bench_worker/verdict/printable.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(PrintableTest, KeepsWhatPeopleRead) {
  EXPECT_EQ(Printable("line 3: error: ‘x’ was not declared\nλ 漢 🦊"),
            "line 3: error: ‘x’ was not declared\nλ 漢 🦊");
  EXPECT_EQ(Printable("a\tb"), "a b");
  EXPECT_EQ(Printable(""), "");
}

TEST(PrintableTest, NothingSteersATerminal) {
  EXPECT_EQ(Printable("\x1b[2J\x1b]0;title\x07"), "?[2J?]0;title?");
  EXPECT_EQ(Printable("a\rb\bc\x7f"), "a?b?c?");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "?31m")
      << "C1 control sequence introducer";
  EXPECT_EQ(Printable(absl::string_view("a\0b", 3)), "a?b");
}

TEST(PrintableTest, NothingHidesOrTurnsTheText) {
  EXPECT_EQ(Printable("a\u202Eb\u2066c\u200Bd\uFEFFe\U000E0041"), "a?b?c?d?e?");
}

TEST(PrintableTest, MalformedBytesGo) {
  EXPECT_EQ(Printable("\xff\xfe\x80"), "???");
  EXPECT_EQ(Printable("\xe2\x80"), "??") << "cut off";
  EXPECT_EQ(Printable("\xc0\xaf"), "??") << "overlong";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(Printable("\xf5\x80\x80\x80"), "????");
}

TEST(CutUtf8Test, CutsNoSequence) {
  EXPECT_EQ(CutUtf8("a‘b", 2), "a");
  EXPECT_EQ(CutUtf8("a‘b", 3), "a");
  EXPECT_EQ(CutUtf8("a‘b", 4), "a‘");
  EXPECT_EQ(CutUtf8("a‘b", 9), "a‘b");
  EXPECT_EQ(CutUtf8("‘", 1), "");
}

}  // namespace
}  // namespace whetstone
