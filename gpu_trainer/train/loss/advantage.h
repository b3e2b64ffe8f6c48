// Tells how much better each rollout did than its group: the group's mean is the baseline, so no
// value network is needed (Shao et al., DeepSeekMath, arXiv 2402.03300). It is shrunk by the share
// of the group's variance that the rewards' errors explain (NoiseShare): the positive-part estimate
// of James and Stein (1961; Efron and Morris 1975, section 2), with the group's mean for the
// origin.
//
//   std::vector<std::vector<Graded>> groups = {{{1.0}, {0.5}, {0.0, /*dropped=*/true}}};
//   std::vector<GroupAdvantage> a = ComputeAdvantages(groups, AdvantageScale::kGroup);
//   // a[0].values ≈ {0.7, -0.7, 0}
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LOSS_ADVANTAGE_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LOSS_ADVANTAGE_H_

#include <vector>

#include "absl/types/span.h"

namespace whetstone {

// r is a rollout's reward, mean that of its group. Standard deviations have the divisor n - 1, as
// in TRL.
enum class AdvantageScale {
  kGroup,        // (r - mean) / (std of the group + 1e-4)
  kBatch,        // (r - mean) / (std of all rewards of the batch + 1e-4) (arXiv 2508.08221)
  kNone,         // r - mean (Dr. GRPO, arXiv 2503.20783)
  kLeaveOneOut,  // r - mean of the group's others (RLOO, arXiv 2402.14740)
  // n q - 1 with q = softmax(b r) over the group's n rewards, and b >= 0 such that the KL
  // divergence of q from uniform is ln 2 (TTT-Discover, arXiv 2601.16175), or as near as rewards
  // allow: where more than half share the best one, q is uniform over those. b is at most a quarter
  // of the inverse of the largest error, so that no noise is taken for the best. It seeks the best,
  // not the mean.
  kEntropic,
};

struct Graded {
  double reward = 0;
  // A dropped rollout is neither learned from nor part of any mean and spread.
  bool dropped = false;
  double error = 0;  // standard error of the reward
};

struct GroupAdvantage {
  // It has one for each rollout; 0 for a dropped one, and for all when there is nothing to learn.
  std::vector<double> values;
  // It is false for fewer than two rollouts kept (G = 1, too), all rewards equal, or a spread
  // within their errors. Such a group has no part in the step: not in the loss, not in its
  // normaliser, not in kBatch's spread.
  bool learnable = false;
};

// Returns one for each group. Rewards must be finite.
std::vector<GroupAdvantage> ComputeAdvantages(absl::Span<const std::vector<Graded>> groups,
                                              AdvantageScale scale);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LOSS_ADVANTAGE_H_
