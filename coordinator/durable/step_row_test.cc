#include "coordinator/durable/step_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace whetstone {
namespace {

using ::testing::HasSubstr;

TEST(StepRowTest, TheBottleneckIsAPartComputedOrAWaitThatTookLonger) {
  std::map<std::string, double> row = {{"time/step", 10},
                                       {"profile/head_s", 3},
                                       {"profile/sampling_s", 1},
                                       {"profile/computed_s", 4},
                                       {"profile/measure_machine_s", 9},
                                       {"profile/wait_rewards_s", 2},
                                       {"profile/communication_s", 1}};
  EXPECT_EQ(StepBottleneck(row, "The head."), "The head.");
  row["profile/wait_rewards_s"] = 3.5;
  const std::string rewards = StepBottleneck(row, "The head.");
  EXPECT_THAT(rewards, HasSubstr("waiting for rewards (35 % of the step)"));
  EXPECT_THAT(rewards, HasSubstr("--slots"));
  row["profile/communication_s"] = 4;
  EXPECT_THAT(StepBottleneck(row, "The head."),
              HasSubstr("communication with the trainer (40 % of the step)"));
}

}  // namespace
}  // namespace whetstone
