// Does attention.h's work by FlashAttention-2 (Dao, arXiv 2307.08691) as LibTorch carries it: one
// call for all runs and heads. Each run is a sequence of its own whose keys are its context's and
// its own; the causal mask is aligned at their ends, as runs are.
//
// It serves only bf16 and fp16 on GPUs from compute capability 8.0 on. The backward pass is asked
// for a fixed order of additions, which costs some speed, so that an update can be replayed.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PASS_ATTENTION_FLASH_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PASS_ATTENTION_FLASH_H_

#include <torch/types.h>

#include <vector>

#include "gpu_trainer/train/pass/attention.h"
#include "gpu_trainer/train/pass/row_sum.h"

namespace whetstone {

// Tells whether it computes these shapes on this device.
bool FlashServes(const AttentionShape& shape, const torch::Tensor& qkv);

// FlashRuns has the rows of every run's keys, all runs one after the other, and where each begins.
struct FlashRuns {
  std::vector<int64_t> keys;
  std::vector<int32_t> query_ends, key_ends;  // Sums so far, beginning with 0.
  int64_t queries_max = 0, keys_max = 0;
};
// `runs` must be in the order of their rows, which they cover without gaps.
FlashRuns LayOutRuns(const std::vector<AttentionRun>& runs);

// FlashLayout has the same on a device, and the sum over all keys that are one row.
struct FlashLayout {
  FlashLayout(const std::vector<AttentionRun>& runs, torch::Device device);

  torch::Tensor keys;                  // [all keys] i64
  torch::Tensor query_ends, key_ends;  // [runs + 1] i32
  int64_t queries_max, keys_max;
  RowSum key_sum;

 private:
  FlashLayout(const FlashRuns& runs, torch::Device device);
};

// These are as AttentionForward and AttentionBackward.
AttentionResult FlashForward(const AttentionShape& shape, const FlashLayout& layout,
                             const torch::Tensor& qkv);
torch::Tensor FlashBackward(const AttentionShape& shape, const FlashLayout& layout,
                            const torch::Tensor& qkv, const AttentionResult& forward,
                            const torch::Tensor& dout);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PASS_ATTENTION_FLASH_H_
