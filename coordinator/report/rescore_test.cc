#include "coordinator/report/rescore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/file.h"
#include "coordinator/campaign/campaign_fakes.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

// RescoreTest rescores a campaign that a simulated world has lived through.
class RescoreTest : public testing::Test {
 protected:
  RescoreTest() : world_({.seed = 11, .workers = 2, .faults = 0, .steps = 4, .warmup = 0}) {
    EXPECT_EQ(world_.Live(), "");
    journal_ = *Journal::Create(folder_.path() + "/journal.db", world_.plan().campaign_id);
    EXPECT_TRUE(journal_->Append(world_.journal(), 1).ok());
  }
  Rescored With(const std::function<void(v1::RewardConfig*)>& change) const {
    CampaignPlan other = world_.plan();
    change(other.campaign.mutable_reward());
    absl::StatusOr<Rescored> rescored = Rescore(world_.plan(), other, *journal_);
    EXPECT_TRUE(rescored.ok()) << rescored.status();
    return *std::move(rescored);
  }

  TempDir folder_ = *TempDir::Make("rescore");
  World world_;
  std::unique_ptr<Journal> journal_;
};

TEST_F(RescoreTest, TheSameRewardPaysTheSame) {
  const Rescored same = With([](v1::RewardConfig*) {});
  EXPECT_EQ(same.steps.size(), 4u);
  int64_t rollouts = 0;
  for (const RescoredStep& step : same.steps) {
    EXPECT_DOUBLE_EQ(step.rewards.recorded, step.rewards.rescored);
    EXPECT_EQ(step.teaching_recorded, step.teaching_rescored);
    rollouts += step.rewards.rollouts;
  }
  EXPECT_GT(rollouts, 0);
  EXPECT_GT(same.pairs, 0);
  EXPECT_EQ(same.turned, 0);
}

TEST_F(RescoreTest, AnotherRewardPaysAnOutcomeOtherwise) {
  const Rescored more =
      With([](v1::RewardConfig* r) { r->set_correct_base(r->correct_base() + 1); });
  for (const auto& [outcome, tally] : more.outcomes) {
    const double gain = outcome == v1::CORRECT ? static_cast<double>(tally.rollouts) : 0;
    EXPECT_NEAR(tally.rescored, tally.recorded + gain, 1e-9) << outcome;
  }
  ASSERT_TRUE(more.outcomes.count(v1::CORRECT) > 0);
  EXPECT_THAT(RescoredText(more), HasSubstr("correct"));
  EXPECT_EQ(RescoredJson(more)["steps"].size(), 4u);
}

TEST_F(RescoreTest, ARewardThatPaysEverythingAlikeTeachesNothing) {
  const Rescored flat = With([](v1::RewardConfig* r) {
    *r = v1::RewardConfig();  // every outcome, and every speed, is worth 0
  });
  for (const RescoredStep& step : flat.steps) EXPECT_EQ(step.teaching_rescored, 0);
  EXPECT_EQ(flat.pairs, 0);
}

}  // namespace
}  // namespace whetstone
