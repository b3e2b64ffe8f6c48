#include "gpu_trainer/grpo/loss.h"

#include <algorithm>
#include <cmath>

namespace whetstone {

TokenLoss PolicyTokenLoss(const LossSettings& settings, const PolicyToken& token) {
  TokenLoss out;
  out.ratio = std::exp(token.policy - token.old);
  if (settings.importance_cap > 0) {
    out.importance = std::min(std::exp(token.old - token.sampling), settings.importance_cap);
  }
  const double a = token.advantage;
  out.clipped_low = a < 0 && out.ratio < 1 - settings.clip_low;
  out.clipped_high = a > 0 && out.ratio > 1 + settings.clip_high;
  const bool clipped = out.clipped_low || out.clipped_high;
  const double bounded = std::clamp(out.ratio, 1 - settings.clip_low, 1 + settings.clip_high);
  // Where the clipped branch is the smaller one it is a constant: no slope.
  out.value = -out.importance * (clipped ? bounded : out.ratio) * a;
  out.slope = clipped ? 0 : -out.importance * out.ratio * a;
  return out;
}

double TokenWeight(const LossSettings& settings, const StepCounts& step, int64_t length) {
  switch (settings.kind) {
    case LossKind::kGrpo:
      return 1.0 / (static_cast<double>(step.sequences) * static_cast<double>(length));
    case LossKind::kDrGrpo:
      return 1.0 /
             (static_cast<double>(step.sequences) * static_cast<double>(settings.max_new_tokens));
    case LossKind::kDapo:
      return 1.0 / static_cast<double>(step.tokens);
  }
  return 0;
}

}  // namespace whetstone
