// How much better each rollout did than its group: the group's mean is the baseline, so no value
// network is needed (Shao et al., DeepSeekMath, arXiv 2402.03300).
//
//   std::vector<Graded> group = {{1.0}, {0.5}, {0.0, /*dropped=*/true}};
//   GroupAdvantage a = ComputeAdvantage(group, AdvantageScale::kGroup);   // a.values ≈ {0.7, -0.7,
//   0}
#ifndef WHETSTONE_GPU_TRAINER_GRPO_ADVANTAGE_H_
#define WHETSTONE_GPU_TRAINER_GRPO_ADVANTAGE_H_

#include <vector>

#include "absl/types/span.h"

namespace whetstone {

enum class AdvantageScale {
  kGroup,  // (r - mean) / (std + 1e-4); std has the divisor n - 1, as in TRL
  kNone,   // r - mean (Dr. GRPO, arXiv 2503.20783)
};

struct Graded {
  double reward = 0;
  // Neither learned from nor part of mean and spread.
  bool dropped = false;
};

struct GroupAdvantage {
  // One per rollout; 0 for a dropped one, and for all when there is nothing to learn.
  std::vector<double> values;
  // False: fewer than two rollouts kept, or all rewards equal. Such a group has no part in the
  // loss, not even in its normaliser.
  bool learnable = false;
};

// Rewards must be finite.
GroupAdvantage ComputeAdvantage(absl::Span<const Graded> group, AdvantageScale scale);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_GRPO_ADVANTAGE_H_
