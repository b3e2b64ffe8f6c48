// Computes causal attention over packed sequences (packing.h), forward and backward, without
// padding.
//
// The work is cut into runs (a node over all before it and itself) times kv heads; each is a task
// of its own. A task gathers its keys and values, its ancestors' included (some 30 KB: copying them
// costs far less than a second pass over the queries would), and takes a tile of queries at a time,
// all query heads of the kv head together. Scores and their sums are f32,
// probabilities are rounded to the compute type for the next product, as in FlashAttention (Dao et
// al., arXiv 2205.14135), whose backward formulas these are. The order of all additions is fixed,
// whatever the number of threads.
//
//   const AttentionPlan plan = PlanAttention(batch.nodes, device);
//   AttentionResult a = AttentionForward(shape, plan, qkv);
//   torch::Tensor dqkv = AttentionBackward(shape, plan, qkv, a, dout);
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PASS_ATTENTION_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PASS_ATTENTION_H_

#include <torch/types.h>

#include <memory>
#include <vector>

#include "gpu_trainer/kernels/cpu/attention_packed.h"
#include "gpu_trainer/train/batch/packing.h"

namespace whetstone {

// The letters are as in ModelConfig: H heads, K kv_heads (query heads h and kv head h / (H / K) go
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

// Returns a run for each node, in the nodes' order.
std::vector<AttentionRun> AttentionRuns(const std::vector<Node>& nodes);

struct FlashLayout;  // attention_flash.h

// AttentionPlan is what all layers need to know of a micro-batch. It is constant.
struct AttentionPlan {
  std::vector<AttentionRun> runs;
  std::shared_ptr<const FlashLayout> flash;  // null for a CPU
};
AttentionPlan PlanAttention(const std::vector<Node>& nodes, torch::Device device);

// With `operators_only` LibTorch's operators take the place of the SIMD kernels
// (attention_packed.h; ProductKernelsServe) and of flash attention (attention_flash.h; 16-bit types
// on a GPU): the reference for both.

// qkv [T, (H + 2K) * D] has rotated queries, rotated keys, values. Scores are scaled by 1 /
// sqrt(D).
AttentionResult AttentionForward(const AttentionShape& shape, const AttentionPlan& plan,
                                 const torch::Tensor& qkv, bool operators_only = false);

// Returns the gradient of qkv [T, (H + 2K) * D], given that of out.
torch::Tensor AttentionBackward(const AttentionShape& shape, const AttentionPlan& plan,
                                const torch::Tensor& qkv, const AttentionResult& forward,
                                const torch::Tensor& dout, bool operators_only = false);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PASS_ATTENTION_H_
