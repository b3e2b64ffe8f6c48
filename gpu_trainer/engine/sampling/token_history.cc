#include "gpu_trainer/engine/sampling/token_history.h"

namespace whetstone {

void TokenHistory::Penalize(const PenaltySettings& settings, float* logits) const {
  const float repetition = static_cast<float>(settings.repetition);
  for (const auto& [id, count] : sampled_) {
    float& logit = logits[id];
    logit = logit < 0 ? logit * repetition : logit / repetition;
    if (count > 0) {
      logit -= static_cast<float>(settings.presence + settings.frequency * count);
    }
  }
}

}  // namespace whetstone
