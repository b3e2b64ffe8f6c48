// A KvCache holds keys and values of sequences that decode: a prefix, stored once per group, and
// each sequence's own suffix, in a slot. Attention runs over both at once.
//
//   auto cache = MakeKvCache(config, dtype, device, /*slots=*/16, /*suffix_tokens=*/128);
//   Forward(…, [&](int64_t layer, const torch::Tensor& qkv) {              // the prompt
//     return cache->Prefill(group, layer, qkv); });
//   Forward(…, [&](int64_t layer, const torch::Tensor& qkv) {              // one token each
//     return cache->Attend(layer, qkv, rows); });
//
// Two implementations have one contract and one test: one is packed for the SIMD kernels of CPUs;
// the other, its reference, is LibTorch's operators, on any device. Not thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_CACHE_KV_CACHE_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_CACHE_KV_CACHE_H_

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_trainer/model/config.h"

namespace whetstone {

// A DecodeRow is one sequence in a decoding step.
struct DecodeRow {
  int32_t prefix = 0;
  int32_t slot = 0;
  int64_t suffix = 0;  // tokens of its slot before this one
};

class KvCache {
 public:
  virtual ~KvCache() = default;

  // qkv [n, H + 2K, D] f32, rotated, is all tokens of a new prefix. Keeps their keys and values as
  // layer `layer` of `prefix` and returns the causal attention among them: [n, H * D] in the
  // cache's dtype.
  virtual torch::Tensor Prefill(int32_t prefix, int64_t layer, const torch::Tensor& qkv) = 0;
  virtual void DropPrefix(int32_t prefix) = 0;

  // qkv [rows, H + 2K, D] f32, rotated, has one token per row. Puts each row's key and value at
  // `suffix` in its slot, over what may be there, and returns its attention over prefix and suffix,
  // itself included: [rows, H * D] in the cache's dtype. Rows of one prefix must be neighbours, and
  // among them those of one slot, in the order of their tokens.
  virtual torch::Tensor Attend(int64_t layer, const torch::Tensor& qkv,
                               const std::vector<DecodeRow>& rows) = 0;
};

// Every slot holds up to `suffix_tokens`. Memory for the slots is taken at once. With
// `batch_invariant` Attend computes every row alone, so that its bits do not depend on the others,
// at the price of speed where LibTorch's operators run; with the SIMD kernels they never do.
std::unique_ptr<KvCache> MakeKvCache(const ModelConfig& config, torch::ScalarType dtype,
                                     torch::Device device, int64_t slots, int64_t suffix_tokens,
                                     bool batch_invariant);

// These make either, for tests. The packed one serves only where ProductKernelsServe
// (kernels/simd_kernels.h).
std::unique_ptr<KvCache> MakePackedKvCache(const ModelConfig& config, torch::ScalarType dtype,
                                           int64_t slots, int64_t suffix_tokens);
std::unique_ptr<KvCache> MakeReferenceKvCache(const ModelConfig& config, torch::ScalarType dtype,
                                              torch::Device device, int64_t slots,
                                              int64_t suffix_tokens, bool batch_invariant);

// Returns the bytes that `tokens` cached tokens of one sequence take, in all layers.
int64_t KvBytes(const ModelConfig& config, torch::ScalarType dtype, int64_t tokens);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_CACHE_KV_CACHE_H_
