#include "coordinator/discover/own_problem.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(AtSizeTest, EveryVariableGetsTheSize) {
  EXPECT_EQ(AtSize("96", 200), "200");
  EXPECT_EQ(AtSize("rows2=96 cols=96", 200), "rows2=200 cols=200");
  EXPECT_EQ(AtSize("rows2=96 cols=96", 200, "cols"), "rows2=8 cols=200");
  EXPECT_EQ(AtSize("n=96 k=12", 200), "n=200 k=8");
  EXPECT_EQ(AtSize("n=96 k=12", 200, "k"), "n=8 k=200");
}

}  // namespace
}  // namespace whetstone
