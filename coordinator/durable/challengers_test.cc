#include "coordinator/durable/challengers.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

v1::Verdict CorrectWithin(double speedup, double noise_band = 0.02) {
  v1::Verdict verdict;
  verdict.set_outcome(v1::CORRECT);
  verdict.set_timed(true);
  verdict.set_speedup(speedup);
  verdict.set_speedup_low(speedup * 0.99);
  verdict.set_noise_band(noise_band);
  return verdict;
}

// The plan is one step of four groups, problems a, b, a, b, of two rollouts each.
class ChallengersTest : public testing::Test {
 protected:
  ChallengersTest()
      : plan_(MakeTestPlan({.steps = 1, .warmup = 0, .group_size = 2, .prompts_per_step = 4})),
        durable_(&plan_) {}

  void Measured(int group, int sample, v1::Verdict verdict) {
    RolloutEntry rollout;
    rollout.step = 1;
    rollout.completion.set_group_index(group);
    rollout.completion.set_sample(sample);
    rollout.completion.set_text(absl::StrCat("```cpp\nint f", group, sample, "();\n```"));
    durable_.Apply(rollout);
    durable_.Apply(VerdictEntry{1, group, sample, std::move(verdict), 0, false});
  }
  std::vector<std::pair<int, int>> Found() const {
    std::vector<std::pair<int, int>> found;
    for (const Challenger& c : FindChallengers(plan_, durable_)) {
      found.emplace_back(c.group_index, c.sample);
    }
    return found;
  }

  const CampaignPlan plan_;
  DurableState durable_;
};

TEST_F(ChallengersTest, TheFastestOfEachProblemIfItBeatsTheReferenceBeyondNoise) {
  Measured(0, 0, CorrectWithin(1.5));
  Measured(0, 1, CorrectWithin(2));
  Measured(1, 0, CorrectWithin(1.01));  // it is within its noise band
  Measured(1, 1, CorrectWithin(0.9));
  Measured(2, 0, CorrectWithin(3));
  v1::Verdict wrong = CorrectWithin(9);
  wrong.set_outcome(v1::WRONG_ANSWER);
  Measured(2, 1, wrong);
  Measured(3, 0, CorrectWithin(1.009, /*noise_band=*/0));  // it is within the least margin
  Measured(3, 1, CorrectWithin(1));
  EXPECT_EQ(Found(), (std::vector<std::pair<int, int>>{{2, 0}}));
}

TEST_F(ChallengersTest, OneThatWasJudgedIsNoneAnyMoreAndTheIncumbentIsTheBar) {
  for (int group = 0; group < 4; ++group) {
    for (int sample = 0; sample < 2; ++sample) Measured(group, sample, CorrectWithin(2 + group));
  }
  EXPECT_EQ(Found(), (std::vector<std::pair<int, int>>{{2, 0}, {3, 0}}));
  const Challenger of_a = FindChallengers(plan_, durable_)[0];
  const IncumbentEntry entry = JudgeChallenger(plan_, durable_, 1, of_a, CorrectWithin(3.9));
  EXPECT_EQ(entry.problem_id, "a");
  EXPECT_EQ(entry.source, "int f20();\n");
  EXPECT_TRUE(entry.accepted);
  durable_.Apply(entry);
  EXPECT_EQ(Found(), (std::vector<std::pair<int, int>>{{3, 0}})) << "group 0's 2x is no 3.9x";
  EXPECT_FALSE(JudgeChallenger(plan_, durable_, 1, of_a, CorrectWithin(3.8)).accepted);
  EXPECT_TRUE(JudgeChallenger(plan_, durable_, 1, of_a, CorrectWithin(4)).accepted);
}

TEST_F(ChallengersTest, IsAcceptedOnlyIfItIsRightAndCertainlyFaster) {
  const Challenger challenger{0, 0, "int f();"};
  v1::Verdict verdict = CorrectWithin(1.2);
  EXPECT_TRUE(JudgeChallenger(plan_, durable_, 1, challenger, verdict).accepted);
  verdict.set_speedup_low(1);
  EXPECT_FALSE(JudgeChallenger(plan_, durable_, 1, challenger, verdict).accepted);
  verdict = CorrectWithin(1.2);
  verdict.set_outcome(v1::SUSPECT);
  EXPECT_FALSE(JudgeChallenger(plan_, durable_, 1, challenger, verdict).accepted);
}

}  // namespace
}  // namespace whetstone
