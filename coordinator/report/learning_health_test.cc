#include "coordinator/report/learning_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using StepMetrics = std::map<std::string, double>;

// A step of a run that learns.
StepMetrics Healthy() {
  return {{"num_completions", 16},       {"outcome/correct", 0.5},
          {"outcome/wrong_answer", 0.3}, {"outcome/compile_error", 0.2},
          {"frac_reward_zero_std", 0.2}, {"completions/clipped_ratio", 0.1},
          {"completions/distinct", 0.7}};
}

std::vector<std::string> Kinds(const std::vector<HealthFinding>& findings) {
  std::vector<std::string> kinds;
  for (const HealthFinding& finding : findings) {
    kinds.push_back(finding.kind);
    EXPECT_EQ(std::count(std::begin(kHealthKinds), std::end(kHealthKinds), finding.kind), 1);
    EXPECT_FALSE(finding.what.empty());
    EXPECT_FALSE(finding.advice.empty()) << finding.what;
  }
  return kinds;
}

class LearningHealthTest : public testing::Test {
 protected:
  // Six steps that learn, then `kHealthSteps` of `row`.
  std::vector<HealthFinding> After(const StepMetrics& row) const {
    std::vector<StepMetrics> rows(6, Healthy());
    rows.insert(rows.end(), kHealthSteps, row);
    return LearningHealth(plan_, rows);
  }
  static StepMetrics With(const StepMetrics& changes) {
    StepMetrics row = Healthy();
    for (const auto& [key, value] : changes) row[key] = value;
    return row;
  }
  CampaignPlan plan_ = MakeTestPlan({});
};

TEST_F(LearningHealthTest, ARunThatLearnsHasNoFindings) {
  EXPECT_THAT(After(Healthy()), IsEmpty());
  EXPECT_THAT(LearningHealth(plan_, {}), IsEmpty());
  // Each just within its threshold.
  EXPECT_THAT(After(With({{"frac_reward_zero_std", 0.89},
                          {"completions/clipped_ratio", 0.49},
                          {"completions/distinct", 0.26},
                          {"outcome/compile_error", 0.94}})),
              IsEmpty());
  EXPECT_THAT(After(With({{"outcome/correct", 1}})), IsEmpty()) << "all right is no fault";
}

TEST_F(LearningHealthTest, EqualRewards) {
  const auto found = After(With({{"frac_reward_zero_std", 0.9}}));
  ASSERT_THAT(Kinds(found), ElementsAre("equal_rewards"));
  EXPECT_EQ(
      found[0].what,
      "all rewards were equal, within their errors, in 90 % of the groups in the last 5 steps");
  EXPECT_THAT(found[0].advice, HasSubstr("train.dynamic_sampling.max_refills"));
  plan_.campaign.mutable_train()->mutable_dynamic_sampling()->set_max_refills(2);
  EXPECT_THAT(After(With({{"frac_reward_zero_std", 0.9}}))[0].advice, Not(HasSubstr("max_refills")))
      << "it is on already";
  plan_.campaign.mutable_train()->clear_dynamic_sampling();
  EXPECT_THAT(After(With({{"frac_reward_zero_std", 1}}))[0].advice, Not(HasSubstr("max_refills")))
      << "others would be equal, too";
  const auto learned = After(With({{"frac_reward_zero_std", 1}, {"outcome/correct", 0.97}}));
  ASSERT_THAT(Kinds(learned), ElementsAre("equal_rewards"));
  EXPECT_THAT(learned[0].advice, HasSubstr("harder problems"));
}

TEST_F(LearningHealthTest, CutOff) {
  const auto found = After(With({{"completions/clipped_ratio", 1}}));
  ASSERT_THAT(Kinds(found), ElementsAre("cut_off"));
  EXPECT_EQ(found[0].what, "100 % of the completions in the last 5 steps were cut off");
  EXPECT_THAT(found[0].advice, HasSubstr("raise generate.max_new_tokens (now 256)"));
  EXPECT_THAT(found[0].advice, Not(HasSubstr("deadline_s"))) << "there is none";
}

TEST_F(LearningHealthTest, OneOutcomeOnly) {
  for (const auto& [outcome, advice] : std::vector<std::pair<std::string, std::string>>{
           {"no_code", "generate.response_prefix"},
           {"forbidden", "forbid it in the problem's text"},
           {"compile_error", "warmup.examples"},
           {"wrong_answer", "whet problem check"},
           {"crash", "sizes"},
           {"timeout", "limits"},
           {"memory_limit", "limits"},
           {"suspect", "cost"},
           {"infrastructure_error", "logs"}}) {
    StepMetrics row = With(
        {{"outcome/correct", 0.05}, {"outcome/wrong_answer", 0}, {"outcome/compile_error", 0}});
    row["outcome/" + outcome] = 0.95;
    const auto found = After(row);
    ASSERT_THAT(Kinds(found), ElementsAre("one_outcome")) << outcome;
    EXPECT_THAT(found[0].advice, HasSubstr(advice)) << outcome;
  }
}

TEST_F(LearningHealthTest, NoVariety) {
  const auto found = After(With({{"completions/distinct", 0.25}}));
  ASSERT_THAT(Kinds(found), ElementsAre("no_variety"));
  EXPECT_THAT(found[0].advice, HasSubstr("train.entropy_bonus above 0"));
  plan_.campaign.mutable_train()->set_entropy_bonus(0.01);
  EXPECT_THAT(After(With({{"completions/distinct", 0.06}}))[0].advice,
              Not(HasSubstr("entropy_bonus")));
}

// A step's row of problem `id` with `programs` different programs, all of that outcome.
StepMetrics Repeating(const std::string& id, double programs, const std::string& outcome) {
  StepMetrics row = Healthy();
  row["problem/" + id + "/programs"] = programs;
  row["problem/" + id + "/outcome/" + outcome] = 1;
  row["problem/" + id + "/reward"] = -0.25;
  return row;
}

TEST_F(LearningHealthTest, CollapseIsToldAsLongAsItLasts) {
  CollapseWatch watch(&plan_);
  watch.Add(1, Repeating("a", 1, "wrong_answer"));
  watch.Add(2, Repeating("a", 3, "wrong_answer"));  // it recovers
  watch.Add(3, Repeating("a", 1, "wrong_answer"));
  watch.Add(4, Repeating("b", 2, "wrong_answer"));  // of another problem
  watch.Add(5, Repeating("a", 1, "wrong_answer"));
  EXPECT_THAT(watch.Collapsed(), IsEmpty());
  watch.Add(6, Repeating("a", 1, "wrong_answer"));
  const auto found = watch.Collapsed();
  ASSERT_THAT(Kinds(found), ElementsAre("collapsed"));
  EXPECT_EQ(found[0].subject, "a");
  EXPECT_EQ(found[0].what,
            "every completion of a is the same wrong program since step 3 (wrong answer, reward "
            "-0.250)");
  EXPECT_THAT(found[0].advice, HasSubstr("reward.partial_credit until_correct"));
  EXPECT_THAT(found[0].advice, HasSubstr("train.imitation.size"));
  watch.Add(7, Repeating("a", 1, "wrong_answer"));
  ASSERT_THAT(Kinds(watch.Collapsed()), ElementsAre("collapsed"));
  StepMetrics two = Repeating("a", 1, "wrong_answer");
  two["problem/a/outcome/wrong_answer"] = 0.5;
  watch.Add(8, two);
  EXPECT_THAT(watch.Collapsed(), IsEmpty()) << "one text, but not one outcome";
}

TEST_F(LearningHealthTest, ACollapseOntoARightProgramIsNoBetter) {
  std::vector<StepMetrics> rows;
  for (int step = 1; step <= 3; ++step) {
    StepMetrics row = Repeating("a", 1, "correct");
    row.merge(Repeating("b", 1, "compile_error"));
    row["completions/distinct"] = 0.1;
    row["frac_reward_zero_std"] = 1;
    rows.push_back(row);
  }
  const auto found = LearningHealth(plan_, rows);
  ASSERT_THAT(Kinds(found), ElementsAre("collapsed", "collapsed")) << "which says the rest, too";
  EXPECT_THAT(found[0].what, HasSubstr("a is the same right program since step 1 (correct"));
  EXPECT_THAT(found[1].what, HasSubstr("b is the same wrong program since step 1 (compile error"));
  plan_.campaign.mutable_train()->set_group_size(1);
  EXPECT_THAT(Kinds(LearningHealth(plan_, rows)), ElementsAre("equal_rewards", "no_variety"))
      << "a group of one is always one program";
}

TEST_F(LearningHealthTest, NothingFasterIsSaidWithWhatWasTried) {
  Attempts attempts;
  v1::Verdict verdict;
  verdict.set_outcome(v1::WRONG_ANSWER);
  for (int i = 0; i < 7; ++i) attempts.Add("a", verdict);
  verdict.set_outcome(v1::CORRECT);
  verdict.set_speedup(1.02);
  verdict.add_techniques("unrolling");
  attempts.Add("a", verdict);
  verdict.set_speedup(0.9);
  verdict.add_techniques("restrict");
  attempts.Add("b", verdict);
  const HealthFinding found = NothingFaster(plan_, attempts);
  EXPECT_EQ(found.what,
            "nothing faster than the reference was found for a, b: of 9 programs 2 correct, 7 "
            "wrong answer; the fastest right one was first measured at 1.02x, and right ones "
            "tried unrolling (2), restrict (1)");
  EXPECT_THAT(found.advice, HasSubstr("try an easier problem first"));
  EXPECT_THAT(found.advice, HasSubstr("reward.partial_credit until_correct"));
  EXPECT_THAT(found.advice, HasSubstr("train.hints"));
  EXPECT_THAT(found.advice, HasSubstr("whet rewrite"));
  plan_.campaign.mutable_warmup()->set_rewrites("r.jsonl");
  EXPECT_THAT(NothingFaster(plan_, attempts).advice, Not(HasSubstr("whet rewrite")));
  plan_.campaign.mutable_train()->add_hints("Block the loops.");
  EXPECT_THAT(NothingFaster(plan_, attempts).advice, Not(HasSubstr("train.hints")));
  EXPECT_THAT(found.advice, HasSubstr("(warmup.examples)"));
  plan_.campaign.mutable_warmup()->set_examples("w.jsonl");
  EXPECT_THAT(NothingFaster(plan_, attempts).advice, HasSubstr("warmup.nearest"));
  EXPECT_THAT(NothingFaster(plan_, attempts).advice, Not(HasSubstr("warmup.references")))
      << "some were right";
}

TEST_F(LearningHealthTest, NothingRightAsksForTheReference) {
  Attempts attempts;
  v1::Verdict verdict;
  verdict.set_outcome(v1::WRONG_ANSWER);
  attempts.Add("a", verdict);
  plan_.campaign.mutable_warmup()->set_examples("w.jsonl");
  EXPECT_THAT(NothingFaster(plan_, attempts).advice, HasSubstr("warmup.references"));
  plan_.campaign.mutable_warmup()->set_references(4);
  EXPECT_THAT(NothingFaster(plan_, attempts).advice, Not(HasSubstr("warmup.references")));
}

TEST_F(LearningHealthTest, NothingFasterThoughAllWereRight) {
  Attempts attempts;
  v1::Verdict verdict;
  verdict.set_outcome(v1::CORRECT);
  verdict.set_speedup(1);
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) attempts.Add(id, verdict);
  const HealthFinding found = NothingFaster(plan_, attempts);
  EXPECT_THAT(found.what, HasSubstr("for a, b, c, d and 2 more: of 6 programs 6 correct; "));
  EXPECT_THAT(found.what, HasSubstr("tried no technique that is known"));
  EXPECT_THAT(found.advice, Not(HasSubstr("easier problem")));
}

TEST_F(LearningHealthTest, AFewCompletionsSayNothing) {
  const StepMetrics bad = With({{"num_completions", 4}, {"completions/clipped_ratio", 1}});
  EXPECT_THAT(LearningHealth(plan_, {bad}), IsEmpty());
  const auto found = LearningHealth(plan_, {bad, bad});
  ASSERT_THAT(Kinds(found), ElementsAre("cut_off"));
  EXPECT_THAT(found[0].what, HasSubstr("in the last 2 steps"));
  // What was long ago, and is over, is not told.
  std::vector<StepMetrics> rows(20, bad);
  rows.insert(rows.end(), kHealthSteps, Healthy());
  EXPECT_THAT(LearningHealth(plan_, rows), IsEmpty());
}

}  // namespace
}  // namespace whetstone
