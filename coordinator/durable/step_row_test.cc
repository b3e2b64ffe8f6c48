#include "coordinator/durable/step_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/durable/request_builders.h"

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

// Group 0 is of problem a: three completions of one program; group 1 of b: two, one right.
TEST(StepRowTest, EachProblemHasItsProgramsAndOutcomes) {
  const CampaignPlan plan = MakeTestPlan({.steps = 1, .warmup = 0, .group_size = 3});
  DurableState durable(&plan);
  for (const int group : {0, 1}) {
    for (const int sample : {0, 1, 2}) {
      RolloutEntry rollout;
      rollout.step = 1;
      rollout.completion.set_group_index(group);
      rollout.completion.set_sample(sample);
      durable.Apply(rollout);
      VerdictEntry entry{1, group, sample, v1::Verdict(), 0.5, false};
      const bool right = group == 1 && sample == 2;
      entry.verdict.set_outcome(right ? v1::CORRECT : v1::CRASH);
      entry.verdict.set_speedup(1);
      entry.verdict.set_canonical_hash(right ? "right" : "crash");
      durable.Apply(entry);
    }
    PromptEntry prompt{1, v1::PromptTokens()};
    prompt.prompt.set_group_index(group);
    durable.Apply(prompt);
  }
  const v1::UpdateRequest request = BuildUpdate(plan, durable);
  const auto row = BuildRow(plan, durable, request, v1::UpdateResponse(), StepTimes());
  EXPECT_EQ(row.at("problem/a/programs"), 1);
  EXPECT_EQ(row.at("problem/a/outcome/crash"), 1);
  EXPECT_EQ(row.count("problem/a/outcome/correct"), 0u);
  EXPECT_EQ(row.at("problem/b/programs"), 2);
  EXPECT_DOUBLE_EQ(row.at("problem/b/outcome/correct"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(row.at("problem/b/outcome/crash"), 2.0 / 3);
}

// Group 0's rewards differ by as much as their errors, group 1's by much more.
TEST(StepRowTest, AnUpdateKnowsTheErrorsOfRewards) {
  const CampaignPlan plan = MakeTestPlan({.steps = 1, .warmup = 0, .group_size = 2});
  DurableState durable(&plan);
  for (const int group : {0, 1}) {
    for (const int sample : {0, 1}) {
      RolloutEntry rollout;
      rollout.step = 1;
      rollout.completion.set_group_index(group);
      rollout.completion.set_sample(sample);
      durable.Apply(rollout);
      VerdictEntry entry{
          1, group, sample, v1::Verdict(), group == 0 ? 0.6 + 0.01 * sample : sample, false};
      entry.verdict.set_outcome(v1::CORRECT);
      entry.verdict.set_speedup(2);
      entry.verdict.set_reward_error(0.1);
      durable.Apply(entry);
    }
    PromptEntry prompt{1, v1::PromptTokens()};
    prompt.prompt.set_group_index(group);
    durable.Apply(prompt);
  }
  const StepRecord& step = durable.open_steps().front();
  EXPECT_FALSE(step.groups[0].HasSpread());
  EXPECT_EQ(step.Informative(), 1) << "dynamic sampling replaces the other";
  const v1::UpdateRequest request = BuildUpdate(plan, durable);
  EXPECT_EQ(request.grpo().groups(1).rollouts(0).reward_error(), 0.1);
  const auto row = BuildRow(plan, durable, request, v1::UpdateResponse(), StepTimes());
  EXPECT_EQ(row.at("frac_reward_zero_std"), 0.5);
  EXPECT_DOUBLE_EQ(row.at("reward_noise_share"), 0.01 / 0.5);
}

// Both groups of the second step are shown what failed in the first; one mends it.
TEST(StepRowTest, GroupsThatMendAreCountedApart) {
  const CampaignPlan plan = MakeTestPlan(
      {.steps = 2, .warmup = 0, .group_size = 2, .sets = {"search={repairs: 1, archive: 2}"}});
  DurableState durable(&plan);
  const auto take = [&](int64_t step, const std::vector<std::vector<bool>>& right) {
    for (const int group : {0, 1}) {
      for (const int sample : {0, 1}) {
        RolloutEntry rollout;
        rollout.step = step;
        rollout.completion.set_group_index(group);
        rollout.completion.set_sample(sample);
        rollout.completion.set_finish(v1::Completion::STOP);
        rollout.completion.set_text(absl::StrCat("```cpp\n", step, sample, "\n```"));
        durable.Apply(rollout);
        const bool is_right = right[static_cast<size_t>(group)][static_cast<size_t>(sample)];
        VerdictEntry entry{step, group, sample, v1::Verdict(), is_right ? 0.5 : 0.0, false};
        entry.verdict.set_outcome(is_right ? v1::CORRECT : v1::CRASH);
        entry.verdict.set_speedup(is_right ? 2 : 0);
        entry.verdict.set_speedup_low(is_right ? 1.9 : 0);
        entry.verdict.set_detail("it says why");
        durable.Apply(entry);
      }
      PromptEntry prompt{step, v1::PromptTokens()};
      prompt.prompt.set_group_index(group);
      durable.Apply(prompt);
    }
  };
  take(1, {{false, true}, {false, true}});
  const v1::UpdateRequest first = BuildUpdate(plan, durable);
  auto row = BuildRow(plan, durable, first, v1::UpdateResponse(), StepTimes());
  EXPECT_EQ(row.at("search/repairs"), 0);
  EXPECT_EQ(row.count("search/repaired"), 0u);
  durable.Apply(UpdateEntry{first.name()});
  take(2, {{false, false}, {false, true}});
  row = BuildRow(plan, durable, BuildUpdate(plan, durable), v1::UpdateResponse(), StepTimes());
  EXPECT_EQ(row.at("search/repairs"), 1);
  EXPECT_EQ(row.at("search/repaired"), 0.5);
  EXPECT_EQ(row.at("search/parents"), 0);
  EXPECT_EQ(row.count("search/better"), 0u);
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
