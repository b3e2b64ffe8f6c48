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

// Steps that were sampled ahead wait behind it.
TEST(DurableStateTest, AnEvaluationIsABarrier) {
  const CampaignPlan plan =
      MakeTestPlan({.steps = 3,
                    .warmup = 1,
                    .group_size = 2,
                    .prompts_per_step = 1,
                    .sets = {"train.max_staleness=1", "eval.every=2",
                             "eval.problems=[/v.md, /w.md]", "eval.samples=1"}});
  DurableState durable(&plan);
  const auto add = [&durable](int64_t step, int groups, int samples) {
    for (int g = 0; g < groups; ++g) {
      PromptEntry prompt{step, {}};
      prompt.prompt.set_group_index(g);
      durable.Apply(prompt);
      for (int s = 0; s < samples; ++s) {
        RolloutEntry rollout{step, {}};
        rollout.completion.set_group_index(g);
        rollout.completion.set_sample(s);
        durable.Apply(rollout);
        durable.Apply(VerdictEntry{step, g, s, {}, 0.5, false});
      }
    }
  };
  const auto update = [&] {
    UpdateEntry entry;
    entry.name = plan.NameOf(durable.position() + 1);
    return entry;
  };
  const auto restored = [&] {
    const v1::StateSnapshot snapshot = durable.Snapshot();
    DurableState again = *DurableState::BeginRestore(&plan, snapshot);
    EXPECT_EQ(again.position(), durable.position());
    return again;
  };
  EXPECT_EQ(durable.evaluation(), nullptr) << "warm-up comes first";
  durable.Apply(update());
  ASSERT_NE(durable.evaluation(), nullptr);
  EXPECT_EQ(durable.evaluation()->step, 0);
  EXPECT_EQ(durable.open_steps().size(), 1u) << "no step opens meanwhile";
  EXPECT_EQ(durable.step(), 0);
  EXPECT_EQ(durable.Check(update()).message(),
            "the journal holds an update of step 1 before the evaluation at step 0 is complete");
  EXPECT_EQ(durable.Check(EvaluationEntry{StepName(0)}).message(),
            "the journal holds the end of the evaluation at step 0, but not each sample's verdict");
  add(0, 2, 1);
  EXPECT_EQ(restored().evaluation()->step, 0);
  EXPECT_TRUE(absl::IsDataLoss(durable.Check(EvaluationEntry{StepName(-2)})));
  durable.Apply(EvaluationEntry{StepName(0)});
  EXPECT_EQ(restored().step(), 1) << "what is complete is not opened again";
  EXPECT_TRUE(absl::IsDataLoss(durable.Check(EvaluationEntry{StepName(0)})));
  add(1, 1, 2);
  durable.Apply(update());
  add(2, 1, 2);
  RolloutEntry ahead{3, {}};
  durable.Apply(ahead);
  EXPECT_TRUE(absl::IsDataLoss(durable.Check(update()))) << "amid the rollouts of step 3";
  ahead.completion.set_sample(1);
  durable.Apply(ahead);
  durable.Apply(PromptEntry{3, {}});
  durable.Apply(update());
  EXPECT_EQ(durable.evaluation()->step, -2);
  ASSERT_EQ(durable.open_steps().size(), 2u);
  EXPECT_EQ(durable.open_steps().back().step, 3);
  EXPECT_EQ(*durable.FindStep(3)->groups[0].policy, 2);
  add(-2, 2, 1);
  durable.Apply(EvaluationEntry{StepName(-2)});
  EXPECT_EQ(durable.step(), 3);
  durable.Apply(update());
  EXPECT_FALSE(durable.done()) << "the last policy is evaluated too";
  add(-3, 2, 1);
  durable.Apply(EvaluationEntry{StepName(-3)});
  EXPECT_TRUE(durable.done());
}

}  // namespace
}  // namespace whetstone
