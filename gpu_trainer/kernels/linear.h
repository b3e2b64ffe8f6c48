// Computes y = x W^T + bias for inference: no gradients, sums returned in f32 as they are.
//
//   torch::Tensor qkv = Linear(x, layer.qkv, layer.qkv_bias);
//   torch::Tensor logits = Linear(hidden, weights.lm_head);
//
// Rounding every product to bf16 would double the noise of a bf16 forward pass (a log-probability
// moves by up to 0.06 by the rounding of its logit alone), so callers round once, where the next
// product reads.
//
// On a CPU that has the instructions (AVX2 for float, AVX-512 for bf16) a SIMD kernel runs: a row's
// bits then do not depend on the rows beside it. Elsewhere, and on CUDA, LibTorch's matmul runs.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_LINEAR_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_LINEAR_H_

#include <torch/types.h>

namespace whetstone {

// Takes x [rows, k], w [n, k] and bias [n] or undefined, all of one compute type, to [rows, n] f32.
torch::Tensor Linear(const torch::Tensor& x, const torch::Tensor& w,
                     const torch::Tensor& bias = {});

// Tells whether results on `device` in that compute type do not depend on the rows computed beside,
// in Linear as in attention.
bool IsBatchInvariant(torch::Device device, torch::ScalarType compute);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_LINEAR_H_
