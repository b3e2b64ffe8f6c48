#include "coordinator/eval/estimators.h"

#include <gtest/gtest.h>

#include <vector>

namespace whetstone {
namespace {

TEST(EstimatorsTest, PassAtKIsTheProbabilityOfAHit) {
  EXPECT_DOUBLE_EQ(PassAtK(16, 4, 1), 0.25);
  EXPECT_DOUBLE_EQ(PassAtK(4, 2, 2), 1 - 1.0 / 6);  // one of the six pairs has no hit
  EXPECT_DOUBLE_EQ(PassAtK(10, 0, 5), 0);
  EXPECT_DOUBLE_EQ(PassAtK(10, 6, 5), 1) << "four misses can not fill five places";
  EXPECT_DOUBLE_EQ(PassAtK(10, 1, 10), 1);
  // Large numbers do not overflow: C(999, 500) / C(1000, 500) = 1/2.
  EXPECT_NEAR(PassAtK(1000, 1, 500), 0.5, 1e-12);
}

TEST(EstimatorsTest, TheLargestOfKIsWeighedByItsChoices) {
  EXPECT_DOUBLE_EQ(ExpectedMaxOfK({3, 1, 2}, 1), 2);
  EXPECT_DOUBLE_EQ(ExpectedMaxOfK({3, 1, 2}, 2), (2 + 3 + 3) / 3.0);
  EXPECT_DOUBLE_EQ(ExpectedMaxOfK({3, 1, 2}, 3), 3);
  EXPECT_DOUBLE_EQ(ExpectedMaxOfK({5}, 1), 5);
}

TEST(EstimatorsTest, QuantilesAreLinearBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(Median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3, 4, 5}, 0.1), 1.4);
  EXPECT_DOUBLE_EQ(Quantile({1, 2}, 1), 2);
}

}  // namespace
}  // namespace whetstone
