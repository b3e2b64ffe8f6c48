#include "coordinator/report/trend_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/report/health_limits.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using MetricsRowValues = std::map<std::string, double>;

class TrendWatchTest : public testing::Test {
 protected:
  // Adds steps whose rewards go round `around` by a little.
  void Rewards(int steps, double around, double best = 2) {
    for (int i = 0; i < steps; ++i) {
      watch_.Add({{"reward", around + (i % 2 == 0 ? 0.05 : -0.05)}, {"speedup/best/a", best}});
    }
  }
  void Policy(const MetricsRowValues& changes, int steps = kHealthSteps) {
    MetricsRowValues row = {{"entropy", 0.4},
                            {"kl", 0.1},
                            {"sampling/sampling_logp_difference/mean", 0.02},
                            {"sampling/importance_sampling_ratio/mean", 1}};
    for (const auto& [key, value] : changes) row[key] = value;
    for (int i = 0; i < steps; ++i) watch_.Add(row);
  }
  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    for (const HealthFinding& finding : watch_.Findings()) {
      kinds.push_back(finding.kind);
      EXPECT_EQ(std::count(std::begin(kHealthKinds), std::end(kHealthKinds), finding.kind), 1);
      EXPECT_FALSE(finding.advice.empty());
    }
    return kinds;
  }
  CampaignPlan plan_ = MakeTestPlan({});
  TrendWatch watch_{&plan_};
};

TEST_F(TrendWatchTest, ARewardThatRisesIsWell) {
  for (int step = 0; step < 3 * kFlatSteps; ++step) Rewards(1, 0.01 * step);
  EXPECT_THAT(Kinds(), IsEmpty());
}

TEST_F(TrendWatchTest, AFlatReward) {
  Rewards(2 * kFlatSteps - 1, 0.3);
  EXPECT_THAT(Kinds(), IsEmpty()) << "it is too soon to say";
  Rewards(1, 0.3);
  ASSERT_THAT(Kinds(), ElementsAre("reward_flat"));
  EXPECT_THAT(watch_.Findings()[0].what,
              HasSubstr("the reward has not risen in 20 steps (mean 0.30"));
  Rewards(1, 0.3, /*best=*/2.5);
  EXPECT_THAT(Kinds(), IsEmpty()) << "a better program is a success";
}

TEST_F(TrendWatchTest, ASlowRiseAmongUnlikeProblemsIsOne) {
  CampaignPlan plan = MakeTestPlan({.prompts_per_step = 1});
  TrendWatch watch(&plan);
  for (int step = 0; step < 2 * kFlatSteps; ++step) {
    watch.Add({{"reward", (step % 2 == 0 ? 1 : -1) + 0.005 * step}});
  }
  EXPECT_THAT(watch.Findings(), IsEmpty());
}

TEST_F(TrendWatchTest, ARewardThatFell) {
  Rewards(kHealthSteps, 0.8);
  Rewards(kHealthSteps, 0.55);
  EXPECT_THAT(Kinds(), IsEmpty()) << "that is no fall";
  Rewards(kHealthSteps, 0.2);
  ASSERT_THAT(Kinds(), ElementsAre("reward_fell"));
  EXPECT_THAT(watch_.Findings()[0].what, HasSubstr("and once was 0.81"));
}

TEST_F(TrendWatchTest, AFallAmongNoiseIsNone) {
  for (int i = 0; i < kHealthSteps; ++i) watch_.Add({{"reward", i % 2 == 0 ? 1.5 : -0.5}});
  for (int i = 0; i < kHealthSteps; ++i) watch_.Add({{"reward", i % 2 == 0 ? -0.9 : 1.1}});
  EXPECT_THAT(Kinds(), IsEmpty());
}

TEST_F(TrendWatchTest, APolicyThatHardlyChooses) {
  Policy({});
  EXPECT_THAT(Kinds(), IsEmpty());
  Policy({{"entropy", 0.009}});
  ASSERT_THAT(Kinds(), ElementsAre("entropy_gone"));
  EXPECT_THAT(watch_.Findings()[0].advice, HasSubstr("train.entropy_bonus above 0"));
}

TEST_F(TrendWatchTest, APolicyThatIsFarAway) {
  Policy({{"kl", 1.5}, {"sampling/sampling_logp_difference/mean", 0.25}});
  ASSERT_THAT(Kinds(), ElementsAre("policy_moved"));
  EXPECT_EQ(watch_.Findings()[0].what,
            "the policy has moved far, by the last 5 steps: its KL divergence from the reference "
            "is 1.50 nats a token, log-probabilities differ by 0.25 from those that were sampled "
            "with");
  Policy({{"kl", 1.5}});
  ASSERT_THAT(Kinds(), ElementsAre("policy_moved"));
  EXPECT_THAT(watch_.Findings()[0].what, Not(HasSubstr("log-probabilities")));
}

TEST_F(TrendWatchTest, WhatTaughtNothingSaysNothingOfThePolicy) {
  Policy({{"entropy", 0}, {"kl", 0}, {"sampling/importance_sampling_ratio/mean", 0}});
  EXPECT_THAT(Kinds(), IsEmpty());
  plan_.campaign.mutable_train()->set_frozen(true);
  Policy({{"entropy", 0}});
  EXPECT_THAT(Kinds(), IsEmpty()) << "a frozen policy stays what it is";
}

TEST_F(TrendWatchTest, ProblemsThatTakeTurnsAreComparedWithThemselves) {
  for (const int prompts : {1, 5}) {
    CampaignPlan plan = MakeTestPlan({.prompts_per_step = prompts});
    while (plan.problems.size() < 12) plan.problems.push_back(PlannedProblem(plan.problems[0]));
    TrendWatch watch(&plan);
    // All come in 12 steps, some times; half of these are hard, and one after the other.
    for (int step = 0; step < 36; ++step) watch.Add({{"reward", step % 12 < 6 ? 1.4 : -0.2}});
    EXPECT_THAT(watch.Findings(), IsEmpty()) << prompts;
  }
}

}  // namespace
}  // namespace whetstone
