#include "coordinator/durable/lr_schedule.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(LrScheduleTest, RisesLinearlyThenStays) {
  const LrSchedule s{1e-4, 4, 10, false, 0.1};
  EXPECT_DOUBLE_EQ(LearningRate(s, 1), 0.25e-4);
  EXPECT_DOUBLE_EQ(LearningRate(s, 2), 0.5e-4);
  EXPECT_DOUBLE_EQ(LearningRate(s, 4), 1e-4);
  EXPECT_DOUBLE_EQ(LearningRate(s, 10), 1e-4);
}

TEST(LrScheduleTest, CosineFallsFromPeakToFloor) {
  const LrSchedule s{1, 2, 12, true, 0.1};
  EXPECT_DOUBLE_EQ(LearningRate(s, 2), 1);
  EXPECT_NEAR(LearningRate(s, 7), 0.55, 1e-12) << "half way between peak and floor";
  EXPECT_NEAR(LearningRate(s, 12), 0.1, 1e-12);
  EXPECT_NEAR(LearningRate(s, 50), 0.1, 1e-12) << "beyond the end";
  for (int step = 3; step <= 12; ++step) {
    EXPECT_LT(LearningRate(s, step), LearningRate(s, step - 1)) << step;
  }
}

TEST(LrScheduleTest, NoRiseStartsAtThePeak) {
  EXPECT_DOUBLE_EQ(LearningRate({1, 0, 10, true, 0}, 1), 1);
  EXPECT_DOUBLE_EQ(LearningRate({1, 1, 10, true, 0}, 1), 1);
  EXPECT_DOUBLE_EQ(LearningRate({1, 8, 1, true, 0}, 1), 0.125) << "a rise longer than the run";
}

}  // namespace
}  // namespace whetstone
