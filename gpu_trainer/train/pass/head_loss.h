// The language-model head computes a few hundred rows at a time: log-probability and entropy of the
// learned tokens and, in the same sweep, the gradients. Logits exist for one chunk only, so memory
// does not grow with vocabulary × tokens.
//
// A loss that is a sum over tokens needs no second pass: as soon as a chunk's log-probabilities are
// known the objective says how much each counts, and the gradient follows from the same logits.
// (Liger kernel, arXiv 2410.10989, does the same for cross entropy.) A loss that must see a whole
// sequence first takes one sweep without objective before, over the same hidden states: the same
// numbers bit for bit, at the price of one more product with the head.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PASS_HEAD_LOSS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PASS_HEAD_LOSS_H_

#include <torch/types.h>

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "gpu_trainer/train/batch/packing.h"

namespace whetstone {

// They are natural logarithms; one entry per target, in the targets' order.
struct HeadOutput {
  std::vector<float> logprobs;   // log softmax(logits / temperature)[target]
  std::vector<float> entropies;  // of softmax(logits / temperature)
};

// These are the derivatives of the loss by one target's log-probability and by the entropy of its
// distribution.
struct TokenGradient {
  double logprob = 0;
  double entropy = 0;
};

// Returns the gradient at target `i`, given its log-probability and entropy. It is called once per
// target, in order, from one thread.
using TokenObjective = std::function<TokenGradient(size_t i, float logprob, float entropy)>;

struct HeadGradient {
  torch::Tensor hidden;  // [T, C] f32, made by HeadLoss.
  torch::Tensor weight;  // [V, C] f32, added to; undefined: not wanted.
};

// HeadChunk says how much is computed at once. Logits exist for `rows` targets. On the way back
// their gradient exists for a block of `vocabulary` tokens only, and is multiplied both ways while
// it is near the cores: the product with the hidden states reads it transposed, which takes a CPU
// twice as long over a row of 150,000. A GPU wants few and large products.
struct HeadChunk {
  int64_t rows = 256;
  int64_t vocabulary = 8192;
};
inline constexpr HeadChunk kHeadChunkOfAGpu = {.rows = 512,
                                               .vocabulary = std::numeric_limits<int64_t>::max()};

// hidden [T, C] after the final norm, weight [V, C], of one dtype. With an objective `gradient`
// must be given too. Without `chunk` it is kHeadChunkOfAGpu where kernels for GPUs serve. With
// `operators_only` LibTorch's operators compute also where kernels serve.
HeadOutput HeadLoss(const torch::Tensor& hidden, const torch::Tensor& weight,
                    const std::vector<Target>& targets, double temperature,
                    const TokenObjective& objective = nullptr, HeadGradient* gradient = nullptr,
                    std::optional<HeadChunk> chunk = std::nullopt, bool operators_only = false);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PASS_HEAD_LOSS_H_
