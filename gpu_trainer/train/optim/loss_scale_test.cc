#include "gpu_trainer/train/optim/loss_scale.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

using State = LossScale::State;

TEST(LossScale, DoublesAfterManyFiniteStepsAndHalvesAtAnOverflow) {
  LossScale scale;
  EXPECT_EQ(scale.value(), 65536);
  for (int i = 0; i < LossScale::kGrowthInterval - 1; ++i) scale.StepWasFinite();
  EXPECT_EQ(scale.value(), 65536);
  scale.StepWasFinite();
  EXPECT_EQ(scale.state(), (State{.value = 131072, .finite_steps = 0}));
  scale.StepWasFinite();
  scale.Overflowed();
  EXPECT_EQ(scale.state(), (State{.value = 65536, .finite_steps = 0}))
      << "the steps in a row begin anew";
}

TEST(LossScale, StaysAPowerOfTwoWithinBounds) {
  LossScale scale;
  for (int i = 0; i < 100; ++i) scale.Overflowed();
  EXPECT_EQ(scale.value(), LossScale::kLeast);
  for (int64_t i = 0; i < 200 * LossScale::kGrowthInterval; ++i) scale.StepWasFinite();
  EXPECT_TRUE(LossScale::IsValid(scale.state()));
  for (const State& bad : {State{.value = 3}, State{.value = 0.5}, State{.value = 1e300},
                           State{.finite_steps = -1}, State{.finite_steps = 2000}}) {
    EXPECT_FALSE(LossScale::IsValid(bad)) << bad.value << " " << bad.finite_steps;
  }
}

}  // namespace
}  // namespace whetstone
