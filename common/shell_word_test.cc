#include "common/shell_word.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(ShellWordTest, IsOneWordWhateverIsInIt) {
  EXPECT_EQ(ShellWord("train.lr=1e-5"), "'train.lr=1e-5'");
  EXPECT_EQ(ShellWord("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace
}  // namespace whetstone
