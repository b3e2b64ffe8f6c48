// These are the policy-gradient losses, one token at a time. Only the policy's log-probabilities
// are differentiated.
//
// The loss of an optimizer step is a sum over its learned tokens of
//
//   weight * (w * surrogate + kl_beta * kl) - entropy_bonus * entropy / tokens
//
// (weight: TokenWeight; w: importance.h; kl: kl.h), with ratio = exp(policy - old) and advantage A:
//
//   grpo, dr_grpo, dapo   -min(ratio * A, clip(ratio) * A), clip = [1 - clip_low, 1 + clip_high]
//                         (PPO's surrogate with DAPO's two bounds, arXiv 2503.14476). With
//                         dual_clip = c > 0 and A < 0 it is at most -c * A (arXiv 1912.09729, eq.
//                         5; the "delta" of two-sided clipping, arXiv 2505.07291, is the same c).
//   gspo                  the same with one ratio for the sequence, exp(mean(policy - old)), the
//                         geometric mean of its tokens' ratios (arXiv 2507.18071, eq. 5-7)
//   cispo                 -clip(ratio) * A * policy, clip(ratio) taken as a constant (arXiv
//                         2506.13585, eq. 4-5): a token that is far off is weighed down, never
//                         silenced. clip_low = 1 means no lower bound, as in the paper.
//
// A token of an imitated rollout has the surrogate -imitation_weight * A * policy whatever the
// loss, with w = 1 and without kl (self-imitation learning, arXiv 1806.05249, eq. 2; A >= 0): a
// ratio would silence just those tokens that the policy has nearly lost.
//
//   SequenceTerms sequence;   // NeedsSequence(settings, …) ? ComputeSequenceTerms(…) : {}
//   TokenLoss t = PolicyTokenLoss(settings, {.policy = p, .old = o, .sampling = s, .advantage = a},
//                                 sequence);
//   loss += weight * t.value;   // gradient of the token's log-probability: weight * t.gradient
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LOSS_LOSS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LOSS_LOSS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "gpu_trainer/train/loss/importance.h"
#include "gpu_trainer/train/loss/kl.h"

namespace whetstone {

enum class LossKind { kGrpo, kDrGrpo, kDapo, kGspo, kCispo };

struct LossSettings {
  LossKind kind = LossKind::kDapo;
  double clip_low = 0.2;
  double clip_high = 0.28;
  double dual_clip = 0;  // 0: off; else above 1 + clip_high. Not with kCispo.
  ImportanceSettings importance = {};
  double kl_beta = 0;  // 0: no reference is asked for
  KlEstimator kl_estimator = KlEstimator::kK3;
  double entropy_bonus = 0;
  int64_t max_new_tokens = 0;  // kDrGrpo's constant
  double imitation_weight = 0;
};

// A PolicyToken has natural log-probabilities of one token.
struct PolicyToken {
  double policy = 0;     // The one being differentiated.
  double old = 0;        // The policy's at the start of the update.
  double sampling = 0;   // Recorded while decoding.
  double reference = 0;  // The frozen model's that kl_beta pulls towards.
  double advantage = 0;
  bool imitated = false;  // Then only policy and advantage are read.
};

// SequenceTerms are the terms of a token's loss that depend on its whole sequence.
struct SequenceTerms {
  double ratio = 1;       // kGspo
  double importance = 1;  // w of every token, where w belongs to the sequence
};

// Tells whether PolicyTokenLoss reads SequenceTerms other than the default ones, so that every
// log-probability of a sequence must be known before its first gradient. `on_policy`: old = policy.
bool NeedsSequence(const LossSettings& settings, bool on_policy);

// The log-probabilities are of one sequence's tokens; at least one.
SequenceTerms ComputeSequenceTerms(const LossSettings& settings, absl::Span<const float> policy,
                                   absl::Span<const float> old, absl::Span<const float> sampling);

struct TokenLoss {
  double value = 0;
  double gradient = 0;  // d value / d policy
  double ratio = 1;
  double importance = 1;      // w
  double kl = 0;              // the estimator's value
  bool clipped_low = false;   // The lower bound replaced the ratio.
  bool clipped_high = false;  // The upper bound did.
  bool clipped_dual = false;  // dual_clip did.
};
TokenLoss PolicyTokenLoss(const LossSettings& settings, const PolicyToken& token,
                          const SequenceTerms& sequence);

// StepCounts is what the weights of one optimizer step are made of: its learnable sequences and
// their tokens.
struct StepCounts {
  int64_t sequences = 0;
  int64_t tokens = 0;
};
// Returns the weight of each token of a sequence `length` tokens long.
//   kGrpo, kGspo: 1 / (sequences * length)   kDrGrpo: 1 / (sequences * max_new_tokens)
//   kDapo, kCispo: 1 / tokens
double TokenWeight(const LossSettings& settings, const StepCounts& step, int64_t length);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LOSS_LOSS_H_
