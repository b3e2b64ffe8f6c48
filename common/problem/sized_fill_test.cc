#include "common/problem/sized_fill.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(SizedFillTest, BoundsBecomeParameters) {
  v1::Fill fill;
  fill.set_kind(v1::Fill::SORTED);
  fill.add_bounds("0");
  fill.add_bounds("min(n, m)-1");
  const absl::StatusOr<v1::Fill> sized = FillAt(fill, {{"n", 9}, {"m", 4}});
  ASSERT_TRUE(sized.ok()) << sized.status();
  EXPECT_EQ(sized->kind(), v1::Fill::SORTED);
  EXPECT_EQ(sized->bounds_size(), 0);
  ASSERT_EQ(sized->parameters_size(), 2);
  EXPECT_EQ(sized->parameters(0), 0);
  EXPECT_EQ(sized->parameters(1), 3);
}

TEST(SizedFillTest, NumbersStayAsTheyAre) {
  v1::Fill fill;
  fill.set_kind(v1::Fill::UNIFORM);
  fill.add_parameters(-0.5);
  fill.add_parameters(2);
  EXPECT_EQ(FillAt(fill, {})->SerializeAsString(), fill.SerializeAsString());
}

TEST(SizedFillTest, WhatHasNoValueIsAnError) {
  v1::Fill fill;
  fill.set_kind(v1::Fill::UNIFORM);
  fill.add_bounds("1");
  fill.add_bounds("n-1");
  EXPECT_EQ(FillAt(fill, {{"n", 1}}).status().message(), "the range (1, n-1) is empty: 1 > 0");
  EXPECT_FALSE(FillAt(fill, {{"m", 1}}).ok());
}

}  // namespace
}  // namespace whetstone
