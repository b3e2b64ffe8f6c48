#include "gpu_trainer/train/learner/activation_budget.h"

#include <algorithm>

namespace whetstone {
namespace {

constexpr int64_t kBytes = int64_t{1} << 29;
constexpr int64_t kBytesMax = int64_t{3} << 29;
// Matrix products of fewer rows lose speed.
constexpr int64_t kTokensWanted = 1024;
// Whatever is kept, what one layer needs besides while it computes counts, too.
constexpr int64_t kTokensMax = 16384;

}  // namespace

ActivationBudget::ActivationBudget(const ModelConfig& config, torch::ScalarType dtype,
                                   int64_t tokens, ActivationCheckpointing checkpointing,
                                   int64_t free_bytes) {
  using Keep = DecoderPass::Keep;
  const auto fitting = [&](int64_t bytes, Keep keep) {
    const int64_t fit =
        std::min(bytes, free_bytes / 4) / DecoderPass::KeptBytesPerToken(config, dtype, keep);
    return std::clamp<int64_t>(fit, kTokensMin, kTokensMax);
  };
  if (checkpointing == ActivationCheckpointing::kOn ||
      (checkpointing == ActivationCheckpointing::kAuto &&
       std::max(tokens, kTokensWanted) > fitting(kBytesMax, Keep::kAll))) {
    keep_ = Keep::kInputs;
  }
  limits_.tokens = tokens > 0 ? tokens : fitting(kBytes, keep_);
  limits_.tokens_max = tokens > 0 ? tokens : fitting(kBytesMax, keep_);
}

}  // namespace whetstone
