// Does one run and kv head of attention.h's work on plain memory, by SIMD kernels; attention.cc
// does it with LibTorch's operators elsewhere. There is no LibTorch and no thread here: callers
// spread runs and heads.
//
// Keys and values are gathered and packed once (panel_kernels.h); then a tile of queries is taken
// at a time, few enough that its scores stay in the second-level cache.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_ATTENTION_PACKED_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_ATTENTION_PACKED_H_

#include <cstdint>
#include <vector>

namespace whetstone {

// Rows [begin, begin + rows) attend to the rows of `context` and causally to themselves.
struct AttentionRun {
  std::vector<int64_t> context;
  int64_t begin = 0;
  int64_t rows = 0;
};

// T is uint16_t (bf16) or float. Letters are as in attention.h.
template <typename T>
struct PackedAttention {
  const AttentionRun* run = nullptr;
  int64_t kv_head = 0;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  int64_t total_rows = 0;    // T
  const T* qkv = nullptr;    // [T, (H + 2K) D]
  T* out = nullptr;          // [T, H D]: written by Forward, read by Backward
  float* log_sum = nullptr;  // [H, T]: written by Forward, read by Backward
  const T* dout = nullptr;   // [T, H D]
  T* dqkv = nullptr;         // [T, (H + 2K) D]: Backward writes the queries' part
  float* dkv = nullptr;  // [context + rows, 2, D]: Backward writes the keys' and values' gradients
};

// These need HasProductKernels (kernels/cpu/cpu.h).
void PackedAttentionForward(const PackedAttention<uint16_t>& args);
void PackedAttentionForward(const PackedAttention<float>& args);
void PackedAttentionBackward(const PackedAttention<uint16_t>& args);
void PackedAttentionBackward(const PackedAttention<float>& args);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_ATTENTION_PACKED_H_
