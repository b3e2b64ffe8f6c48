#include "coordinator/durable/durable_state.h"

#include <gtest/gtest.h>

#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

TEST(DurableStateTest, KeepsNoMoreThanTheStepsThatMayBeOpen) {
  const CampaignPlan plan =
      MakeTestPlan({.steps = 4, .warmup = 1, .sets = {"train.max_staleness=1"}});
  DurableState durable(&plan);
  const auto rollout = [](int64_t step, int group, int sample) {
    RolloutEntry entry;
    entry.step = step;
    entry.completion.set_group_index(group);
    entry.completion.set_sample(sample);
    return entry;
  };
  const auto update = [&] {
    UpdateEntry entry;
    entry.name = plan.NameOf(durable.position() + 1);
    return entry;
  };
  EXPECT_TRUE(absl::IsDataLoss(durable.Check(rollout(1, 0, 0)))) << "warm-up comes first";
  durable.Apply(update());
  EXPECT_EQ(durable.open_steps().size(), 2u);
  EXPECT_TRUE(absl::IsDataLoss(durable.Check(rollout(3, 0, 0)))) << "it would be two updates old";
  durable.Apply(rollout(1, 0, 0));
  durable.Apply(rollout(2, 1, 3));
  EXPECT_EQ(durable.Check(update()).message(),
            "the journal holds an update of step 1 amid the rollouts of step 2");
  for (const int group : {0, 1}) {
    PromptEntry prompt;
    prompt.step = 2;
    prompt.prompt.set_group_index(group);
    durable.Apply(prompt);
    for (int sample = 0; sample < 4 - group; ++sample) durable.Apply(rollout(2, group, sample));
  }
  durable.Apply(update());
  EXPECT_EQ(durable.step(), 2);
  EXPECT_EQ(*durable.open_steps().front().groups[1].policy, 1) << "before step 1's update";
  EXPECT_EQ(durable.FindStep(1), nullptr);
  durable.Apply(update());
  durable.Apply(update());
  EXPECT_EQ(durable.open_steps().size(), 1u) << "the last";
  durable.Apply(update());
  EXPECT_EQ(durable.step(), 0);
}

}  // namespace
}  // namespace whetstone
