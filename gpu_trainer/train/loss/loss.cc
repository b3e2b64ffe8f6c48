#include "gpu_trainer/train/loss/loss.h"

#include <cmath>

namespace whetstone {
namespace {

// Tells whether one weight serves all tokens of a sequence. With gspo it always does: the gradient
// of a sequence's one ratio reaches every token through all of the sequence's terms.
bool SharesImportance(const LossSettings& s) {
  return s.importance.level == ImportanceLevel::kSequence ||
         s.importance.level == ImportanceLevel::kGeometric ||
         (s.kind == LossKind::kGspo && s.importance.level == ImportanceLevel::kToken);
}

// Returns the ratio that counts, and in `out` whether a bound replaced it.
double Bounded(const LossSettings& s, double a, TokenLoss* out) {
  const double ratio = out->ratio, low = 1 - s.clip_low, high = 1 + s.clip_high;
  const bool both_ways = s.kind == LossKind::kCispo;  // It bounds whatever the advantage's sign.
  out->clipped_low = ratio < low && (both_ways || a < 0);
  out->clipped_high = ratio > high && (both_ways || a > 0);
  out->clipped_dual = s.dual_clip > 0 && a < 0 && ratio > s.dual_clip;
  if (out->clipped_low) return low;
  if (out->clipped_high) return high;
  return out->clipped_dual ? s.dual_clip : ratio;
}

}  // namespace

bool NeedsSequence(const LossSettings& s, bool on_policy) {
  return SharesImportance(s) || (s.kind == LossKind::kGspo && !on_policy);
}

SequenceTerms ComputeSequenceTerms(const LossSettings& s, absl::Span<const float> policy,
                                   absl::Span<const float> old, absl::Span<const float> sampling) {
  SequenceTerms terms;
  if (s.kind == LossKind::kGspo) {
    double sum = 0;
    for (size_t i = 0; i < policy.size(); ++i) sum += static_cast<double>(policy[i]) - old[i];
    terms.ratio = std::exp(sum / static_cast<double>(policy.size()));
  }
  if (SharesImportance(s)) terms.importance = SequenceImportance(s.importance, old, sampling);
  return terms;
}

TokenLoss PolicyTokenLoss(const LossSettings& s, const PolicyToken& token,
                          const SequenceTerms& sequence) {
  TokenLoss out;
  if (token.imitated) {
    out.gradient = -s.imitation_weight * token.advantage;
    out.value = out.gradient * token.policy;
    return out;
  }
  out.ratio = s.kind == LossKind::kGspo ? sequence.ratio : std::exp(token.policy - token.old);
  if (SharesImportance(s)) {
    out.importance = sequence.importance;
  } else if (s.importance.level == ImportanceLevel::kToken) {
    out.importance = BoundedImportance(s.importance, token.old - token.sampling);
  }
  const double ratio = Bounded(s, token.advantage, &out);
  const double gain = -out.importance * ratio * token.advantage;
  if (s.kind == LossKind::kCispo) {
    out.value = gain * token.policy;
    out.gradient = gain;
  } else {
    // The derivative of exp(x) is itself; a bound is a constant. gspo's 1 / length is in its
    // weight, where it belongs to the mean over tokens just as well.
    const bool clipped = out.clipped_low || out.clipped_high || out.clipped_dual;
    out.value = gain;
    out.gradient = clipped ? 0 : gain;
  }
  if (s.kl_beta > 0) {
    const KlPenalty kl = TokenKl(s.kl_estimator, token.policy, token.reference);
    out.kl = kl.value;
    out.value += s.kl_beta * kl.value;
    out.gradient += s.kl_beta * kl.gradient;
  }
  return out;
}

double TokenWeight(const LossSettings& s, const StepCounts& step, int64_t length) {
  const double sequences = static_cast<double>(step.sequences);
  switch (s.kind) {
    case LossKind::kGrpo:
    case LossKind::kGspo:
      return 1.0 / (sequences * static_cast<double>(length));
    case LossKind::kDrGrpo:
      return 1.0 / (sequences * static_cast<double>(s.max_new_tokens));
    case LossKind::kDapo:
    case LossKind::kCispo:
      return 1.0 / static_cast<double>(step.tokens);
  }
  return 0;
}

}  // namespace whetstone
