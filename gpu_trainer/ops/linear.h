// y = x W^T + bias for inference: no gradients, few rows at a time.
//
//   torch::Tensor qkv = Linear(x, layer.qkv, layer.qkv_bias);
//   torch::Tensor logits = LinearToFloat(hidden, weights.lm_head);
//
// On a CPU with AVX-512 a hand-written kernel runs where rows are few; a row's bits then do not
// depend on the rows beside it. Elsewhere, and on CUDA, LibTorch's matmul runs.
#ifndef WHETSTONE_GPU_TRAINER_OPS_LINEAR_H_
#define WHETSTONE_GPU_TRAINER_OPS_LINEAR_H_

#include <torch/torch.h>

namespace whetstone {

// Up to this many rows the hand-written kernel is used (and at least as fast as oneDNN).
inline constexpr int64_t kFewRows = 128;

// x [rows, k], w [n, k], bias [n] or undefined, all bf16 or all f32 → [rows, n] of the same dtype.
torch::Tensor Linear(const torch::Tensor& x, const torch::Tensor& w,
                     const torch::Tensor& bias = {});

// The same without bias, but the f32 sums are returned as they are: logits whose differences matter
// must not be rounded to bf16 (which moves a log-probability by up to 0.06). Any number of rows.
torch::Tensor LinearToFloat(const torch::Tensor& x, const torch::Tensor& w);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_OPS_LINEAR_H_
