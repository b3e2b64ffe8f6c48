// Rotary position embedding (Su et al., arXiv 2104.09864) has transformers' half-split layout:
// x[..., :D/2] and x[..., D/2:] are the two coordinates that rotate together.
#ifndef WHETSTONE_GPU_TRAINER_MODEL_ROPE_H_
#define WHETSTONE_GPU_TRAINER_MODEL_ROPE_H_

#include <torch/types.h>

#include "gpu_trainer/model/config.h"

namespace whetstone {

// It is constant after construction and the same for every layer.
struct RopeTable {
  torch::Tensor cos;  // [length, D/2] f32
  torch::Tensor sin;  // [length, D/2] f32
};

// Returns the angles of positions 0 … length-1, Llama 3.1 scaling included.
RopeTable MakeRopeTable(const ModelConfig& config, int64_t length, torch::Device device);

// Rotates x [..., n, heads, D] of any floating dtype by cos and sin [n, D/2] f32, in f32, and
// returns it in x's dtype. It is differentiable.
torch::Tensor ApplyRope(const torch::Tensor& x, const torch::Tensor& cos, const torch::Tensor& sin);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_MODEL_ROPE_H_
