// Runs the decoder's forward pass for inference: no gradients, no dropout. One function serves
// prefill, decoding and scoring, which differ only in where keys and values come from: `attend`.
//
//   torch::Tensor hidden = Forward(config, weights, ids, cos, sin,
//       [&](int64_t layer, const torch::Tensor& qkv) { return cache->Prefill(0, layer, qkv); });
//   torch::Tensor logits = Linear(hidden, weights.lm_head);    // kernels/linear.h
//
// The residual stream and everything between two matrix products is f32, also with bf16 weights:
// only what a product reads is rounded. Against f32 throughout, that halves the error of the
// all-bf16 pass that transformers runs.
#ifndef WHETSTONE_GPU_TRAINER_MODEL_FORWARD_H_
#define WHETSTONE_GPU_TRAINER_MODEL_FORWARD_H_

#include <torch/types.h>

#include <functional>

#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/weights.h"

namespace whetstone {

// It takes (layer, qkv [n, H + 2K, D] f32, rotated, contiguous) to [n, H * D] in the weights'
// dtype.
using AttendFn = std::function<torch::Tensor(int64_t layer, const torch::Tensor& qkv)>;

// ids [n] int64 on the weights' device; cos and sin [n, D/2] f32: each token's own rotation (rows
// of a RopeTable). Returns the hidden states after the final norm, [n, C] in the weights' dtype.
torch::Tensor Forward(const ModelConfig& config, const Weights& weights, const torch::Tensor& ids,
                      const torch::Tensor& cos, const torch::Tensor& sin, const AttendFn& attend);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_MODEL_FORWARD_H_
