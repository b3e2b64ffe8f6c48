#include "gpu_trainer/train/optim/loss_scale.h"

#include <algorithm>
#include <cmath>

namespace whetstone {
namespace {

// A scale above this is no number in float even on its own.
constexpr double kMost = 0x1p+120;

}  // namespace

void LossScale::StepWasFinite() {
  if (++state_.finite_steps < kGrowthInterval) return;
  state_ = {.value = std::min(2 * state_.value, kMost), .finite_steps = 0};
}

void LossScale::Overflowed() {
  state_ = {.value = std::max(state_.value / 2, kLeast), .finite_steps = 0};
}

bool LossScale::IsValid(const State& state) {
  int exponent = 0;
  return state.value >= kLeast && state.value <= kMost && state.finite_steps >= 0 &&
         state.finite_steps < kGrowthInterval && std::frexp(state.value, &exponent) == 0.5;
}

}  // namespace whetstone
