// Importance weights are against the distribution that rollouts were really sampled from.
//
// Even on policy the sampler and the trainer differ: other kernels, other rounding, top-p. And a
// rollout may be older than the policy. The weight of a token is exp(old - sampling); a product
// over a sequence is what makes the estimate unbiased, a single token's factor is what keeps its
// variance bounded, and all of them have to be kept from exploding (Yao et al., "Your efficient RL
// framework secretly brings you off-policy RL training", 2025; Liu et al., "When speed kills
// stability", 2025):
//
//   level       the weight                                  names as in TRL, and verl's geometric
//   token       exp(old - sampling), each token its own     token_truncate, token_mask
//   sequence    exp(sum(old - sampling)), one for all       sequence_truncate, sequence_mask
//   geometric   exp(mean(old - sampling)), one for all      geometric_truncate, geometric_mask
//
// `truncate` clamps it to [clip_min, clip_max]; `mask` makes it 0 outside of them: the token or
// sequence is not learned from. Normalisers keep counting what is masked. The weights are
// constants, never differentiated.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LOSS_IMPORTANCE_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LOSS_IMPORTANCE_H_

#include "absl/types/span.h"

namespace whetstone {

enum class ImportanceLevel { kOff, kToken, kSequence, kGeometric };

struct ImportanceSettings {
  ImportanceLevel level = ImportanceLevel::kOff;
  bool mask = false;    // false: truncate
  double clip_min = 0;  // 0: none
  double clip_max = 0;  // 0: none
};

// Returns `log_weight` after truncation or masking: the weight of one token, or of one sequence.
double BoundedImportance(const ImportanceSettings& settings, double log_weight);

// Returns the one weight of a sequence's tokens; with kToken the mean of theirs.
double SequenceImportance(const ImportanceSettings& settings, absl::Span<const float> old,
                          absl::Span<const float> sampling);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LOSS_IMPORTANCE_H_
