#include "coordinator/durable/remembered_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/request_builders.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Sampled is one rollout: a right program of that name, or a wrong one (speedup 0).
struct Sampled {
  std::string program;
  double speedup = 0;
  double reward = 0;
  v1::Completion::Finish finish = v1::Completion::STOP;
};

class RememberedProgramsTest : public testing::Test {
 protected:
  void Begin(std::vector<std::string> sets) {
    sets.insert(sets.begin(), "train.imitation={size: 2, from_speedup: 1.1, weight: 0.5}");
    plan_ = MakeTestPlan(
        {.steps = 9, .warmup = 0, .group_size = 3, .prompts_per_step = 1, .sets = sets});
    plan_.problems.resize(1);
    durable_.emplace(&plan_);
  }
  void SetUp() override { Begin({}); }

  static JournalEntry RolloutOf(int64_t step, int group, int sample, const Sampled& sampled) {
    RolloutEntry rollout;
    rollout.step = step;
    rollout.completion.set_group_index(group);
    rollout.completion.set_sample(sample);
    rollout.completion.add_ids(static_cast<int>(step));
    rollout.completion.add_ids(sample);
    rollout.completion.add_sampling_logprobs(-0.5F);
    rollout.completion.add_sampling_logprobs(-0.25F);
    rollout.completion.set_finish(sampled.finish);
    rollout.completion.set_text(absl::StrCat("```cpp\n", sampled.program, "\n```"));
    return rollout;
  }
  static JournalEntry VerdictOf(int64_t step, int group, int sample, const Sampled& sampled) {
    VerdictEntry entry{step, group, sample, v1::Verdict(), sampled.reward, false};
    entry.verdict.set_outcome(sampled.speedup > 0 ? v1::CORRECT : v1::WRONG_ANSWER);
    entry.verdict.set_timed(true);
    entry.verdict.set_speedup(sampled.speedup);
    entry.verdict.set_canonical_hash("hash of " + sampled.program);
    return entry;
  }
  // The prompts, rollouts and verdicts of a group, these last in the order of `order`.
  void Add(int64_t step, const std::vector<Sampled>& samples, int group = 0,
           const std::vector<int>& order = {0, 1, 2}) {
    PromptEntry prompt{step, v1::PromptTokens()};
    prompt.prompt.set_group_index(group);
    prompt.prompt.add_ids(7);
    durable_->Apply(prompt);
    for (const int s : {0, 1, 2}) {
      durable_->Apply(RolloutOf(step, group, s, samples[static_cast<size_t>(s)]));
    }
    for (const int s : order) {
      durable_->Apply(VerdictOf(step, group, s, samples[static_cast<size_t>(s)]));
    }
  }
  v1::UpdateRequest Update() {
    v1::UpdateRequest request = BuildUpdate(plan_, *durable_);
    durable_->Apply(UpdateEntry{request.name()});
    return request;
  }
  std::vector<std::string> Remembered() const {
    std::vector<std::string> programs;
    const auto found = durable_->memory().find("a");
    if (found == durable_->memory().end()) return programs;
    for (const RememberedProgram& program : found->second) {
      programs.push_back(absl::StrCat(program.hash, " of step ", program.step));
    }
    return programs;
  }

  CampaignPlan plan_;
  std::optional<DurableState> durable_;
  const Sampled wrong_ = {"wrong", 0, -0.25};
};

TEST_F(RememberedProgramsTest, TheFastestDifferentOnesAreKept) {
  Add(1, {{"a", 1.5, 0.6}, {"slow", 1.05, 0.3}, wrong_});
  EXPECT_THAT(Remembered(), IsEmpty()) << "a step counts from its update on";
  Update();
  EXPECT_THAT(Remembered(), ElementsAre("hash of a of step 1"));
  Add(2, {{"a", 1.9, 0.7}, {"b", 3, 1}, {"cut", 9, 1.2, v1::Completion::LENGTH}});
  Update();
  EXPECT_THAT(Remembered(), ElementsAre("hash of b of step 2", "hash of a of step 1"))
      << "known ones stay as they were, and nothing is learned from what was cut off";
  Add(3, {{"c", 2, 0.8}, {"d", 1.2, 0.4}, wrong_});
  Update();
  EXPECT_THAT(Remembered(), ElementsAre("hash of b of step 2", "hash of c of step 3"));
}

TEST_F(RememberedProgramsTest, TheOrderOfVerdictsSaysNothing) {
  const std::vector<Sampled> samples = {{"a", 2, 0.6}, {"b", 2, 0.6}, {"a", 2.5, 0.7}};
  std::vector<int> order = {0, 1, 2};
  do {
    Begin({});
    Add(1, samples, 0, order);
    Update();
    EXPECT_THAT(Remembered(), ElementsAre("hash of a of step 1", "hash of b of step 1"));
    EXPECT_EQ(durable_->memory().at("a")[0].rollout.sample(), 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(RememberedProgramsTest, AGroupThatDidWorseGetsThemAsTheyWereSampled) {
  Add(1, {{"a", 2, 0.8}, {"b", 1.5, 0.6}, wrong_});
  const v1::UpdateRequest first = Update();
  EXPECT_EQ(first.grpo().settings().imitation_weight(), 0.5);
  EXPECT_EQ(first.grpo().groups(0).rollouts_size(), 3);
  Add(2, {wrong_, wrong_, wrong_});
  const v1::UpdateRequest request = Update();
  const v1::RolloutGroup& group = request.grpo().groups(0);
  ASSERT_EQ(group.rollouts_size(), 5);
  const v1::Rollout& best = group.rollouts(3);
  EXPECT_TRUE(best.imitated());
  EXPECT_EQ(best.sample(), 3);
  EXPECT_THAT(best.ids(), ElementsAre(1, 0));
  EXPECT_THAT(best.sampling_logprobs(), ElementsAre(-0.5F, -0.25F));
  EXPECT_EQ(best.reward(), 0.8);
  EXPECT_EQ(group.rollouts(4).reward(), 0.6);
  EXPECT_FALSE(group.rollouts(2).imitated());
}

TEST_F(RememberedProgramsTest, AGroupThatHasThemOrDoesAsWellDoesNot) {
  Add(1, {{"a", 2, 0.8}, {"b", 1.5, 0.6}, wrong_});
  Update();
  Add(2, {{"a", 2.2, 0.85}, wrong_, wrong_});
  const v1::UpdateRequest has_one = Update();
  ASSERT_EQ(has_one.grpo().groups(0).rollouts_size(), 4);
  EXPECT_EQ(has_one.grpo().groups(0).rollouts(3).reward(), 0.6) << "b: the policy writes a itself";
  Add(3, {{"c", 2, 0.8}, {"d", 2, 0.8}, {"e", 2, 0.8}});
  EXPECT_EQ(Update().grpo().groups(0).rollouts_size(), 3) << "no better than the group";
}

TEST_F(RememberedProgramsTest, AGroupWithoutSpreadIsNotDiscardedForIt) {
  Begin({"train.dynamic_sampling.max_refills=1"});
  Add(1, {{"a", 2, 0.8}, wrong_, wrong_});
  Update();
  Add(2, {wrong_, wrong_, wrong_});
  Add(2, {wrong_, wrong_, wrong_}, 1);
  const v1::UpdateRequest request = Update();
  ASSERT_EQ(request.grpo().groups_size(), 2);
  for (const v1::RolloutGroup& group : request.grpo().groups()) {
    EXPECT_EQ(group.rollouts_size(), 4);
  }
}

TEST_F(RememberedProgramsTest, ASnapshotKeepsThem) {
  Add(1, {{"a", 2, 0.8}, {"b", 1.5, 0.6}, wrong_});
  Update();
  const v1::StateSnapshot snapshot = durable_->Snapshot();
  absl::StatusOr<DurableState> restored = DurableState::BeginRestore(&plan_, snapshot);
  ASSERT_TRUE(restored.ok() && restored->FinishRestore(snapshot).ok());
  EXPECT_EQ(restored->Fingerprint(), durable_->Fingerprint());
  EXPECT_NE(durable_->Fingerprint().find("remembered a step 1"), std::string::npos);
}

TEST_F(RememberedProgramsTest, IsOffByDefault) {
  Begin({"train.imitation.size=0"});
  Add(1, {{"a", 2, 0.8}, wrong_, wrong_});
  EXPECT_EQ(Update().grpo().settings().imitation_weight(), 0);
  EXPECT_THAT(Remembered(), IsEmpty());
}

}  // namespace
}  // namespace whetstone
