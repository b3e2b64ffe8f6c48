#include "coordinator/durable/step_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StepRowTest, TheBottleneckIsAPartComputedOrAWaitThatTookLonger) {
  std::map<std::string, double> row = {{"time/step", 10},
                                       {"profile/head_s", 3},
                                       {"profile/sampling_s", 1},
                                       {"profile/computed_s", 4},
                                       {"profile/measure_machine_s", 9},
                                       {"profile/wait_rewards_s", 2},
                                       {"profile/communication_s", 1}};
  CampaignPlan plan = MakeTestPlan({});
  plan.campaign.mutable_cluster();
  EXPECT_EQ(StepBottleneck(plan, row, "The head."), "The head.");
  row["profile/wait_rewards_s"] = 3.5;
  const std::string rewards = StepBottleneck(plan, row, "The head.");
  EXPECT_THAT(rewards, HasSubstr("waiting for rewards (35 % of the step)"));
  EXPECT_THAT(rewards, HasSubstr("--slots"));
  row["profile/communication_s"] = 4;
  const std::string communication = StepBottleneck(plan, row, "The head.");
  EXPECT_THAT(communication, HasSubstr("communication with the trainer (40 % of the step)"));
  EXPECT_THAT(communication, HasSubstr("cluster.trainer"));
  plan.campaign.clear_cluster();
  EXPECT_THAT(StepBottleneck(plan, row, "The head."), Not(HasSubstr("cluster.trainer")))
      << "the services are this machine's";
}

TEST(StepRowTest, ACheckpointsAdviceCanBeFollowed) {
  CampaignPlan plan = MakeTestPlan({.steps = 6});
  v1::UpdateName name;
  name.set_phase(v1::UpdateName::GRPO);
  name.set_step(6);
  const std::map<std::string, double> row = {{"time/step", 10}, {"time/checkpoint", 9}};
  EXPECT_THAT(RowLine(plan, name, row), HasSubstr("90% checkpoints; a larger checkpoint.every"));
  plan.campaign.mutable_checkpoint()->set_every(6);
  EXPECT_THAT(RowLine(plan, name, row), HasSubstr("[90% checkpoints]")) << "the last step's alone";
}

TEST(StepRowTest, ASpeedupIsNeverNothing) {
  EXPECT_EQ(SpeedupText(3.25), "3.25x");
  EXPECT_EQ(SpeedupText(0.51), "0.51x");
  EXPECT_EQ(SpeedupText(0.0042), "0.0042x");
  v1::UpdateName name;
  name.set_phase(v1::UpdateName::GRPO);
  EXPECT_THAT(RowLine(MakeTestPlan({}), name, {{"speedup/max", 0.0042}}),
              HasSubstr("best 0.0042x"));
}

}  // namespace
}  // namespace whetstone
