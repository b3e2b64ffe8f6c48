#include "gpu_trainer/grpo/loss.h"

#include <gtest/gtest.h>

#include "common/philox.h"
#include "gpu_trainer/grpo/advantage.h"
#include "gpu_trainer/grpo/reference.h"

namespace whetstone {
namespace {

// Ratios far outside the clip range on both sides, advantages of both signs.
TEST(PolicyTokenLoss, ValueAndSlopeEqualTheFp64Reference) {
  for (const double cap : {0.0, 2.0}) {
    const LossSettings settings{.importance_cap = cap};
    constexpr int64_t kTokens = 2000;
    Philox rng(7, {1, 2, 3, 4});
    torch::Tensor columns = torch::empty({4, kTokens}, torch::kDouble);
    double* x = columns.data_ptr<double>();
    for (int64_t i = 0; i < kTokens; ++i) {
      x[i] = -2 + rng.Normal() * 0.4;
      x[kTokens + i] = -2 + rng.Normal() * 0.4;
      x[2 * kTokens + i] = -2 + rng.Normal() * 0.4;
      x[3 * kTokens + i] = i % 7 == 0 ? 0 : rng.Normal();
    }
    torch::Tensor policy = columns[0].clone().set_requires_grad(true);
    const torch::Tensor losses =
        reference::TokenLosses(settings, policy, columns[1], columns[2], columns[3]);
    losses.sum().backward();
    int clipped_low = 0, clipped_high = 0, capped = 0;
    for (int64_t i = 0; i < kTokens; ++i) {
      const TokenLoss t = PolicyTokenLoss(settings, {.policy = x[i],
                                                     .old = x[kTokens + i],
                                                     .sampling = x[2 * kTokens + i],
                                                     .advantage = x[3 * kTokens + i]});
      EXPECT_NEAR(t.value, losses[i].item<double>(), 1e-12);
      EXPECT_NEAR(t.slope, policy.grad()[i].item<double>(), 1e-12);
      clipped_low += t.clipped_low;
      clipped_high += t.clipped_high;
      capped += t.importance == cap;
    }
    EXPECT_GT(clipped_low, 100);
    EXPECT_GT(clipped_high, 100);
    if (cap > 0) {
      EXPECT_GT(capped, 50);
    }
  }
}

TEST(TokenWeight, FollowsEachPaper) {
  const StepCounts step{.sequences = 4, .tokens = 50};
  EXPECT_DOUBLE_EQ(TokenWeight({.kind = LossKind::kGrpo}, step, 10), 1.0 / 40);
  EXPECT_DOUBLE_EQ(TokenWeight({.kind = LossKind::kDrGrpo, .max_new_tokens = 20}, step, 10),
                   1.0 / 80);
  EXPECT_DOUBLE_EQ(TokenWeight({.kind = LossKind::kDapo}, step, 10), 1.0 / 50);
}

TEST(ComputeAdvantage, CentersAndScalesByTheGroup) {
  const std::vector<Graded> group = {{1.0}, {2.0}, {6.0}};
  const GroupAdvantage none = ComputeAdvantage(group, AdvantageScale::kNone);
  EXPECT_TRUE(none.learnable);
  EXPECT_DOUBLE_EQ(none.values[0], -2);
  EXPECT_DOUBLE_EQ(none.values[1], -1);
  EXPECT_DOUBLE_EQ(none.values[2], 3);
  const GroupAdvantage scaled = ComputeAdvantage(group, AdvantageScale::kGroup);
  EXPECT_DOUBLE_EQ(scaled.values[2], 3 / (std::sqrt(7.0) + 1e-4));
}

TEST(ComputeAdvantage, DroppedRolloutsCountForNothing) {
  const std::vector<Graded> group = {
      {1.0}, {std::nan(""), /*dropped=*/true}, {3.0}, {1e9, /*dropped=*/true}};
  const GroupAdvantage a = ComputeAdvantage(group, AdvantageScale::kNone);
  EXPECT_TRUE(a.learnable);
  EXPECT_EQ(a.values, (std::vector<double>{-1, 0, 1, 0}));
}

TEST(ComputeAdvantage, NothingToLearnIsZeroAndNeverNan) {
  const std::vector<std::vector<Graded>> groups = {
      {}, {{0.7}}, {{0.1}, {0.1}, {0.1}}, {{5, /*dropped=*/true}, {6, true}}, {{0.3}, {9, true}}};
  for (const std::vector<Graded>& group : groups) {
    for (const AdvantageScale scale : {AdvantageScale::kGroup, AdvantageScale::kNone}) {
      const GroupAdvantage a = ComputeAdvantage(group, scale);
      EXPECT_FALSE(a.learnable);
      for (const double value : a.values) EXPECT_EQ(value, 0);
    }
  }
}

}  // namespace
}  // namespace whetstone
