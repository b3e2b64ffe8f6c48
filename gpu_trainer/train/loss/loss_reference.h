// Tests have the losses of loss.h as the papers write them here, in fp64 autograd. It is the judge
// of loss, importance, kl and of the learner's step.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LOSS_LOSS_REFERENCE_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LOSS_LOSS_REFERENCE_H_

#include <torch/types.h>

#include <cmath>
#include <vector>

#include "gpu_trainer/train/loss/loss.h"

namespace whetstone::reference {

// A Sequence has n tokens' natural log-probabilities [n] f64, `policy` recording gradients.
struct Sequence {
  torch::Tensor policy, old, sampling, reference;
  double advantage = 0;
  bool imitated = false;
};

// Returns the constant that multiplies the surrogate, [n] or [1].
inline torch::Tensor ImportanceOf(const ImportanceSettings& s, const Sequence& q) {
  const torch::Tensor difference = q.old - q.sampling;
  if (s.level == ImportanceLevel::kOff) return torch::ones({1}, torch::kDouble);
  torch::Tensor w = difference.exp();
  if (s.level == ImportanceLevel::kSequence) w = difference.sum().exp().unsqueeze(0);
  if (s.level == ImportanceLevel::kGeometric) w = difference.mean().exp().unsqueeze(0);
  const double most = s.clip_max > 0 ? s.clip_max : INFINITY;
  if (s.mask) return w.masked_fill((w < s.clip_min).logical_or(w > most), 0.0).detach();
  return w.clamp(s.clip_min, most).detach();
}

// Returns the sampled KL [n], k1 as the reward it is in PPO: its value, the gradient of value *
// policy.
inline torch::Tensor KlOf(KlEstimator estimator, const Sequence& q) {
  const torch::Tensor d = q.policy - q.reference;
  if (estimator == KlEstimator::kK2) return 0.5 * d * d;
  if (estimator == KlEstimator::kK3) return torch::exp(-d) + d - 1;
  const torch::Tensor reinforce = d.detach() * q.policy;
  return d.detach() + reinforce - reinforce.detach();
}

// Returns per-token losses [n] before they are weighted.
inline torch::Tensor TokenLosses(const LossSettings& s, const Sequence& q) {
  if (q.imitated) return -s.imitation_weight * q.advantage * q.policy;
  torch::Tensor log_ratio = q.policy - q.old;
  if (s.kind == LossKind::kGspo) log_ratio = log_ratio.mean().expand_as(log_ratio);
  const torch::Tensor ratio = log_ratio.exp();
  const torch::Tensor clipped = ratio.clamp(1 - s.clip_low, 1 + s.clip_high);
  torch::Tensor loss;
  if (s.kind == LossKind::kCispo) {
    loss = -clipped.detach() * q.advantage * q.policy;
  } else {
    torch::Tensor objective = torch::minimum(ratio * q.advantage, clipped * q.advantage);
    if (s.dual_clip > 0 && q.advantage < 0) {
      objective = torch::maximum(objective, torch::full_like(objective, s.dual_clip * q.advantage));
    }
    loss = -objective;
  }
  loss = loss * ImportanceOf(s.importance, q);
  return s.kl_beta > 0 ? loss + s.kl_beta * KlOf(s.kl_estimator, q) : loss;
}

// Returns the loss of one optimizer step, entropy bonus left out.
inline torch::Tensor StepLoss(const LossSettings& s, const std::vector<Sequence>& sequences) {
  torch::Tensor sums = torch::zeros({}, torch::kDouble), means = torch::zeros({}, torch::kDouble);
  double tokens = 0;
  for (const Sequence& q : sequences) {
    const torch::Tensor losses = TokenLosses(s, q);
    sums = sums + losses.sum();
    means = means + losses.mean();
    tokens += static_cast<double>(losses.numel());
  }
  const double n = static_cast<double>(sequences.size());
  if (s.kind == LossKind::kGrpo || s.kind == LossKind::kGspo) return means / n;
  if (s.kind == LossKind::kDrGrpo) return sums / (n * static_cast<double>(s.max_new_tokens));
  return sums / tokens;
}

}  // namespace whetstone::reference

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LOSS_LOSS_REFERENCE_H_
