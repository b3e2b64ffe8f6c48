#include "coordinator/authoring/usual_sizes.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

UsualSizes Of(const std::vector<std::string>& variables, const std::vector<std::string>& extents) {
  std::vector<Expression> parsed;
  for (const std::string& extent : extents) parsed.push_back(*Expression::Parse(extent));
  return UsualSizes(variables, parsed);
}

TEST(UsualSizesTest, AreAlikeButNotQuite) {
  const UsualSizes sizes = Of({"r", "c"}, {"r*c", "c"});
  EXPECT_EQ(sizes.At(17), "r=17 c=18");
  EXPECT_EQ(sizes.At(1), "r=1 c=1");
  EXPECT_EQ(sizes.At(96, /*alike=*/true), "r=96 c=96");
  EXPECT_EQ(Of({"n"}, {"n"}).At(17), "17");
}

TEST(UsualSizesTest, WhatMakesAnArrayShorterIsSmall) {
  EXPECT_EQ(Of({"n", "k"}, {"n", "n-k+1"}).At(64), "n=64 k=8");
  EXPECT_EQ(Of({"k", "n"}, {"k", "n-k+1"}).At(64), "k=8 n=65");
  EXPECT_EQ(Of({"w", "h", "k"}, {"w*h", "k*k", "(w-k+1)*(h-k+1)"}).At(17), "w=17 h=18 k=3");
  EXPECT_EQ(Of({"n", "k", "step"}, {"n", "(n-k)/step+1"}).At(96, true), "n=96 k=12 step=12");
  EXPECT_EQ(Of({"n", "stride"}, {"(n-1)*stride+1"}).At(2), "n=2 stride=3");
}

TEST(UsualSizesTest, SizesAtWhichAnArrayIsEmptyAreTold) {
  const UsualSizes sizes = Of({"n"}, {"n", "n-2"});
  EXPECT_FALSE(sizes.HaveElements(1));
  EXPECT_FALSE(sizes.HaveElements(2));
  EXPECT_TRUE(sizes.HaveElements(3));
}

}  // namespace
}  // namespace whetstone
