// These are the small steps between a decoder's matrix products, for inference: no gradients. They
// compute in f32 and round once, to the dtype of the weights that read the result.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_ELEMENTWISE_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_ELEMENTWISE_H_

#include <torch/types.h>

namespace whetstone {

// Does root mean square normalisation (Zhang and Sennrich, arXiv 1910.07467): x / sqrt(mean(x^2) +
// eps) * weight. x [rows, C] f32 contiguous, weight [C] → [rows, C] in the weight's dtype. With
// `delta` [rows, C] f32 contiguous, x += delta in place first.
torch::Tensor RmsNorm(const torch::Tensor& x, const torch::Tensor& delta,
                      const torch::Tensor& weight, double eps);

// Normalises `count` heads of each row, from head `first` on, in place: every head of D numbers by
// itself, all with the same weight [D] (any dtype). x [rows, heads_total, D] f32 contiguous.
void RmsNormHeadsInPlace(const torch::Tensor& x, int64_t first, int64_t count,
                         const torch::Tensor& weight, double eps);

// Takes gate_up [rows, 2I] f32, gate first, to silu(gate) * up [rows, I] in `dtype`.
torch::Tensor SiluMul(const torch::Tensor& gate_up, torch::ScalarType dtype);

// Rotates the first `heads` heads of each row in place. x [rows, heads_total, D] f32 contiguous;
// cos and sin [rows, D/2] f32 contiguous hold each row's own angles (model/rope.h).
void RopeInPlace(const torch::Tensor& x, int64_t heads, const torch::Tensor& cos,
                 const torch::Tensor& sin);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_ELEMENTWISE_H_
