// How far the policy is from a frozen reference: estimators of KL(policy || reference) from one
// sampled token (Schulman, "Approximating KL divergence", 2020). With d = policy - reference:
//
//         value            unbiased   gradient by `policy`
//   k1    d                yes        d            as a reward: see below
//   k2    d^2 / 2          no         d            its own derivative
//   k3    e^-d + d - 1     yes        1 - e^-d     its own derivative; DeepSeekMath, eq. 4
//
// The gradient is what counts. That of the KL itself is the mean of d * grad(policy) over
// tokens the policy samples. The derivative of k1 is grad(policy), whose mean is zero:
// differentiated as it stands it would be noise and no penalty, so k1 is applied as what it is in
// PPO, a reward of -kl_beta * d for the token, whose score-function gradient is d * grad(policy).
// That equals k2's; k1 and k2 differ in the value they report. The derivative of k3 agrees with d
// to first order and is bounded above by 1, so it pulls back more weakly, however far the policy
// has gone up (Liu et al., "Rethinking KL regularization in RLHF", arXiv 2510.01555).
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LOSS_KL_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LOSS_KL_H_

namespace whetstone {

enum class KlEstimator { kK1, kK2, kK3 };

struct KlPenalty {
  double value = 0;
  double gradient = 0;  // d value / d policy, as it is applied
};

// Both are natural log-probabilities of the sampled token.
KlPenalty TokenKl(KlEstimator estimator, double policy, double reference);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LOSS_KL_H_
