// The policy-gradient losses, one token at a time.
//
// All three differ only in how tokens are weighted, so the loss of a batch is a weighted sum over
// its tokens of
//
//   l = -w * min(ratio * A, clip(ratio, 1 - clip_low, 1 + clip_high) * A),
//   ratio = exp(policy - old),   w = min(exp(old - sampling), importance_cap)
//
// (PPO's clipped surrogate with DAPO's two bounds, arXiv 2503.14476; w is truncated importance
// sampling, Yao et al., "Your efficient RL framework secretly brings you off-policy RL training",
// 2025). Only `policy` is differentiated.
//
//   TokenLoss t = PolicyTokenLoss(settings, {.policy = p, .old = o, .sampling = s, .advantage =
//   a}); loss += weight * t.value;  gradient of the token's log-probability = weight * t.slope;
#ifndef WHETSTONE_GPU_TRAINER_GRPO_LOSS_H_
#define WHETSTONE_GPU_TRAINER_GRPO_LOSS_H_

#include <cstdint>

namespace whetstone {

// How a token's weight is set; see TokenWeight.
enum class LossKind { kGrpo, kDrGrpo, kDapo };

struct LossSettings {
  LossKind kind = LossKind::kDapo;
  double clip_low = 0.2;
  double clip_high = 0.28;
  double importance_cap = 2;   // 0: off
  int64_t max_new_tokens = 0;  // kDrGrpo's constant
};

// Natural log-probabilities of one token.
struct PolicyToken {
  double policy = 0;    // being differentiated
  double old = 0;       // the policy at the start of the update
  double sampling = 0;  // recorded while decoding
  double advantage = 0;
};

struct TokenLoss {
  double value = 0;
  double slope = 0;  // d value / d policy
  double ratio = 1;
  double importance = 1;      // w
  bool clipped_low = false;   // ratio < 1 - clip_low and A < 0
  bool clipped_high = false;  // ratio > 1 + clip_high and A > 0
};
TokenLoss PolicyTokenLoss(const LossSettings& settings, const PolicyToken& token);

// What the weights of one optimizer step are made of: its learnable sequences and their tokens.
struct StepCounts {
  int64_t sequences = 0;
  int64_t tokens = 0;
};
// The weight of each token of a sequence `length` tokens long.
//   kGrpo: 1 / (sequences * length)   kDrGrpo: 1 / (sequences * max_new_tokens)   kDapo: 1 / tokens
double TokenWeight(const LossSettings& settings, const StepCounts& step, int64_t length);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_GRPO_LOSS_H_
