#include "gpu_trainer/train/learner/activation_budget.h"

#include <algorithm>

namespace whetstone {
namespace {

struct Limits {
  int64_t bytes;          // of what an automatic number of tokens keeps
  int64_t group_bytes;    // the same, of a whole group
  int64_t given_bytes;    // of what a given number of tokens may keep
  int64_t tokens_wanted;  // Matrix products of fewer rows lose speed.
};

Limits LimitsOf(torch::Device device, int64_t free_bytes) {
  constexpr int64_t kHalfGib = int64_t{1} << 29;
  if (device.is_cpu()) {
    const int64_t most = std::min(3 * kHalfGib, free_bytes / 4);
    return {std::min(kHalfGib, free_bytes / 4), most, most, 1024};
  }
  const int64_t most = std::min(12 * kHalfGib, free_bytes / 4);
  return {most, most, free_bytes / 2, 4096};
}

// Whatever is kept, what one layer needs besides while it computes counts, too.
constexpr int64_t kTokensMax = 16384;

}  // namespace

ActivationBudget::ActivationBudget(const ModelConfig& config, torch::ScalarType dtype,
                                   int64_t tokens, ActivationCheckpointing checkpointing,
                                   int64_t free_bytes, torch::Device device) {
  using Keep = DecoderPass::Keep;
  const Limits limits = LimitsOf(device, free_bytes);
  const auto fitting = [&](int64_t bytes, Keep keep) {
    const int64_t fit = bytes / DecoderPass::KeptBytesPerToken(config, dtype, keep);
    return std::clamp<int64_t>(fit, kTokensMin, kTokensMax);
  };
  const bool all_fit = tokens > limits.tokens_wanted
                           ? tokens <= fitting(limits.given_bytes, Keep::kAll)
                           : limits.tokens_wanted <= fitting(limits.group_bytes, Keep::kAll);
  if (checkpointing == ActivationCheckpointing::kOn ||
      (checkpointing == ActivationCheckpointing::kAuto && !all_fit)) {
    keep_ = Keep::kInputs;
  }
  limits_.tokens = tokens > 0 ? tokens : fitting(limits.bytes, keep_);
  limits_.tokens_max = tokens > 0 ? tokens : fitting(limits.group_bytes, keep_);
}

}  // namespace whetstone
