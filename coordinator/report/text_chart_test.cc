#include "coordinator/report/text_chart.h"

#include <gtest/gtest.h>

#include <cmath>

namespace whetstone {
namespace {

TEST(TextChartTest, ScalesAveragesAndLeavesGaps) {
  const double none = std::nan("");
  EXPECT_EQ(TextChart("reward", {-1, none, 0, 1}, 10, 2),
            "reward  1\n"
            "         1 ┤  ▁█\n"
            "        -1 ┤▁ ██\n");
  EXPECT_EQ(TextChart("t", {1, 3, 5, 7, 100, none}, 3, 1),
            "t  100\n"
            "       100 ┤▁▁█\n")
      << "pairs of neighbours: 2, 6, 100";
  EXPECT_EQ(TextChart("same", {3, 3}, 10, 1), "same  3\n         3 ┤▅▅\n");
  EXPECT_EQ(TextChart("nothing", {none}, 10, 3), "");
  EXPECT_EQ(TextChart("nothing", {}, 10, 3), "");
}

}  // namespace
}  // namespace whetstone
