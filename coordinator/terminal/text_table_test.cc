#include "coordinator/terminal/text_table.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(TextTableTest, ColumnsAreAsWideAsWhatIsInThem) {
  EXPECT_EQ(
      TextTable({{"RUN", "STATE", ""}, {"runs/größer", "done", "a note"}, {"b", "stopped", ""}}),
      "RUN          STATE\n"
      "runs/größer  done     a note\n"
      "b            stopped");
  EXPECT_EQ(TextTable({}), "");
}

TEST(TextTableTest, WhatWouldBreakALineDoesNot) {
  EXPECT_EQ(TextTable({{"a\nb\x1b[2J", "c"}}), "a?b?[2J  c");
}

}  // namespace
}  // namespace whetstone
