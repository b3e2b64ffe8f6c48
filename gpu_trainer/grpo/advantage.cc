#include "gpu_trainer/grpo/advantage.h"

#include <cmath>

namespace whetstone {

GroupAdvantage ComputeAdvantage(absl::Span<const Graded> group, AdvantageScale scale) {
  GroupAdvantage result;
  result.values.assign(group.size(), 0.0);
  double sum = 0;
  int kept = 0;
  const Graded* first = nullptr;
  for (const Graded& rollout : group) {
    if (rollout.dropped) continue;
    if (first == nullptr) first = &rollout;
    // Compared exactly: a spread computed from rounded means would be tiny, not zero.
    if (rollout.reward != first->reward) result.learnable = true;
    sum += rollout.reward;
    ++kept;
  }
  if (!result.learnable) return result;

  const double mean = sum / kept;
  double squares = 0;
  for (const Graded& rollout : group) {
    if (!rollout.dropped) squares += (rollout.reward - mean) * (rollout.reward - mean);
  }
  const double divisor =
      scale == AdvantageScale::kGroup ? std::sqrt(squares / (kept - 1)) + 1e-4 : 1.0;
  for (size_t i = 0; i < group.size(); ++i) {
    if (!group[i].dropped) result.values[i] = (group[i].reward - mean) / divisor;
  }
  return result;
}

}  // namespace whetstone
