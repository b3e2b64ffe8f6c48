#include "gpu_trainer/engine/schedule/kv_plan.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "gpu_trainer/engine/cache/kv_cache.h"
#include "gpu_trainer/engine/schedule/sequence.h"
#include "gpu_trainer/kernels/cpu/decode_attention.h"
#include "gpu_trainer/profile/device_memory.h"

namespace whetstone {

int64_t KvBytesAllowed(const GenerateMemory& memory, torch::Device device) {
  if (memory.kv_bytes_max > 0) return memory.kv_bytes_max;
  return std::max<int64_t>(0, FreeTensorBytes(device) - memory.reserved_bytes) / 2 /
         memory.processes;
}

absl::StatusOr<KvPlan> PlanKv(const GenerateSpec& spec, const ModelConfig& config,
                              torch::ScalarType dtype, int64_t bytes) {
  int64_t suffix = 1, prompt = 0, asked = 0;
  int64_t share = 0;  // A sample's share of its prompt, at most.
  for (const PromptGroupSpec& group : spec.groups) {
    const int64_t tokens = static_cast<int64_t>(group.ids.size());
    const int64_t samples = static_cast<int64_t>(group.samples.size());
    suffix = std::max(suffix, TokensMax(spec.sampling, group, config.context));
    prompt = std::max(prompt, tokens);
    share = std::max(share, KvBytes(config, dtype, tokens) / std::max<int64_t>(1, samples));
    asked += samples;
  }
  if (asked == 0) return KvPlan();
  // A slot may hold a block of the prompt besides.
  const int64_t slot = KvBytes(config, dtype, suffix + kPackedBlock - 1);
  const int64_t one = slot + KvBytes(config, dtype, prompt);
  const GenerateMemory& memory = spec.memory;
  if (one > bytes) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "keys and values of one sequence (a prompt of %d tokens and %d new ones) take %.1f MiB, "
        "and %.1f MiB are %s; lower max_new_tokens, shorten the prompt, or %s",
        prompt, suffix, static_cast<double>(one) / (1 << 20),
        static_cast<double>(bytes) / (1 << 20),
        memory.kv_bytes_max > 0 ? "allowed" : "half of what is free now",
        memory.kv_bytes_max > 0 ? "allow more" : "free memory"));
  }
  return KvPlan{.slots = std::min({std::max<int64_t>(1, bytes / (slot + share)), asked,
                                   memory.sequences_max > 0 ? memory.sequences_max : asked}),
                .prefix_tokens = prompt,
                .suffix_tokens = suffix};
}

}  // namespace whetstone
