// Causal attention over packed trees (packing.h), forward and backward, without padding and with
// each prefix attended to in place: no token's keys are copied to the branches that share them.
//
// A branch's queries see two sets of keys, the prefix and their own branch. The two are attended to
// apart and merged exactly by their log-sum-exps; the backward pass runs once per part with the
// merged output and log-sum-exp (Dao et al., FlashAttention, arXiv 2205.14135, for both).
//
//   AttentionResult a = AttentionForward(shape, blocks, qkv);
//   torch::Tensor dqkv = AttentionBackward(shape, blocks, qkv, a, dout);
#ifndef WHETSTONE_GPU_TRAINER_GRPO_ATTENTION_H_
#define WHETSTONE_GPU_TRAINER_GRPO_ATTENTION_H_

#include <torch/torch.h>

#include <vector>

#include "gpu_trainer/grpo/packing.h"

namespace whetstone {

// Letters as in ModelConfig: H heads, K kv_heads (query heads h and kv head h / (H / K) go
// together), D head_dim; T rows.
struct AttentionShape {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
};

struct AttentionResult {
  torch::Tensor out;      // [T, H * D], qkv's dtype
  torch::Tensor log_sum;  // [H, T] f32: log sum exp of the scaled scores
};

// qkv [T, (H + 2K) * D]: rotated queries, rotated keys, values. Scores are scaled by 1 / sqrt(D).
AttentionResult AttentionForward(const AttentionShape& shape, const std::vector<Block>& blocks,
                                 const torch::Tensor& qkv);

// The gradient of qkv [T, (H + 2K) * D], given that of out.
torch::Tensor AttentionBackward(const AttentionShape& shape, const std::vector<Block>& blocks,
                                const torch::Tensor& qkv, const AttentionResult& forward,
                                const torch::Tensor& dout);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_GRPO_ATTENTION_H_
