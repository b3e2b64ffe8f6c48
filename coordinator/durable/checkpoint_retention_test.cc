#include "coordinator/durable/checkpoint_retention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

TEST(CheckpointRetentionTest, KeepsTheNewestCheckpointsAndTheBest) {
  // The plan saves after every second step.
  CampaignPlan plan = MakeTestPlan({.steps = 12, .warmup = 1});
  plan.campaign.mutable_checkpoint()->set_keep(2);
  DurableState durable(&plan);
  const auto learn = [&](double reward) {
    UpdateEntry update;
    update.name = plan.NameOf(durable.position() + 1);
    update.row["reward"] = reward;
    durable.Apply(update);
  };
  const auto save = [&] {
    durable.Apply(CheckpointEntry{plan.NameOf(durable.position()),
                                  plan.CheckpointPath(durable.position()), "", 0});
    return ObsoleteCheckpoints(plan, durable);
  };
  learn(std::nan(""));  // warm-up has no reward
  EXPECT_TRUE(save().empty());
  learn(0.9);
  learn(0.7);
  EXPECT_TRUE(save().empty());
  learn(0.1);
  learn(0.2);
  EXPECT_EQ(save(), std::vector<std::string>{"/ckpt/warmup"});
  learn(0.8);
  learn(0.5);
  EXPECT_EQ(save(), std::vector<std::string>{"/ckpt/warmup"}) << "step-2 is the best";
  learn(0.9);
  learn(0.8);
  EXPECT_EQ(save(), (std::vector<std::string>{"/ckpt/warmup", "/ckpt/step-2", "/ckpt/step-4"}));
  plan.campaign.mutable_checkpoint()->set_keep_best(false);
  learn(0.1);
  EXPECT_EQ(ObsoleteCheckpoints(plan, durable).size(), 3u);
  plan.campaign.mutable_train()->set_kl_beta(0.1);
  EXPECT_EQ(ObsoleteCheckpoints(plan, durable),
            (std::vector<std::string>{"/ckpt/step-2", "/ckpt/step-4"}))
      << "warm-up's is the reference of the KL penalty";
  plan.warmup_checkpoint = "/ckpt/warmup";
  plan.checkpoint_dir += "//";
  EXPECT_EQ(ObsoleteCheckpoints(plan, durable).size(), 2u) << "it is the same folder";
  plan.checkpoint_dir = "/ckpt/mine";
  EXPECT_TRUE(ObsoleteCheckpoints(plan, durable).empty()) << "another campaign's";
}

TEST(CheckpointRetentionTest, TheBestMayBeThatOfTheEvaluations) {
  CampaignPlan plan = MakeTestPlan(
      {.steps = 5,
       .warmup = 1,
       .sets = {"eval.problems=[/v.md]", "eval.every=1", "eval.samples=1", "checkpoint.keep=1",
                "checkpoint.best_by=eval", "checkpoint.every=9"}});
  DurableState durable(&plan);
  const auto learn = [&](double reward, double evaluated) {
    UpdateEntry update;
    update.name = plan.NameOf(durable.position() + 1);
    update.row["reward"] = reward;
    durable.Apply(update);
    EXPECT_TRUE(plan.CheckpointDue(durable.position())) << "what is evaluated is saved";
    durable.Apply(CheckpointEntry{plan.NameOf(durable.position()),
                                  plan.CheckpointPath(durable.position()), "", 0});
    const std::vector<std::string> obsolete = ObsoleteCheckpoints(plan, durable);
    RolloutEntry rollout{durable.evaluation()->step, {}};
    durable.Apply(rollout);
    durable.Apply(PromptEntry{rollout.step, {}});
    durable.Apply(VerdictEntry{rollout.step, 0, 0, {}, evaluated, false});
    durable.Apply(EvaluationEntry{StepName(rollout.step), {{"eval/reward", evaluated}}});
    return obsolete;
  };
  learn(0, 0.1);
  EXPECT_EQ(learn(0.9, 0.5), std::vector<std::string>{}) << "warm-up's is the best of those known";
  EXPECT_EQ(learn(0.1, 0.2), (std::vector<std::string>{"/ckpt/warmup"}));
  EXPECT_EQ(learn(0.1, 0.3), (std::vector<std::string>{"/ckpt/warmup", "/ckpt/step-2"}));
  EXPECT_EQ(learn(0.1, 0.9),
            (std::vector<std::string>{"/ckpt/warmup", "/ckpt/step-2", "/ckpt/step-3"}));
  EXPECT_EQ(learn(0.1, 0.1).back(), "/ckpt/step-3") << "the newest is kept in any case";
  EXPECT_EQ(*durable.CheckpointEvaluation(4), 0.9);
}

}  // namespace
}  // namespace whetstone
