#include "gpu_trainer/engine/cache/kv_cache.h"

#include "gpu_trainer/kernels/cpu/decode_attention.h"
#include "gpu_trainer/kernels/linear.h"

namespace whetstone {

std::unique_ptr<KvCache> MakeKvCache(const ModelConfig& config, torch::ScalarType dtype,
                                     torch::Device device, int64_t slots, int64_t suffix_tokens,
                                     bool batch_invariant) {
  if (IsBatchInvariant(device, dtype)) {
    return MakePackedKvCache(config, dtype, slots, suffix_tokens);
  }
  return MakeReferenceKvCache(config, dtype, device, slots, suffix_tokens, batch_invariant);
}

int64_t KvBytes(const ModelConfig& config, torch::ScalarType dtype, int64_t tokens) {
  const int64_t block = (tokens + kPackedBlock - 1) / kPackedBlock * kPackedBlock;
  const int64_t dp = (config.head_dim + 15) / 16 * 16;
  return 2 * config.layers * config.kv_heads * dp * block *
         static_cast<int64_t>(c10::elementSize(dtype));
}

}  // namespace whetstone
