// These are the element-wise layers of a decoder with hand-written gradients, over whole tensors:
// kernels for GPUs (kernels/cuda/training_cuda.cu), SIMD kernels (row_kernels.h) spread over the
// threads where they serve (kernels/simd_kernels.h), LibTorch's own operators elsewhere.
//
// Nothing here is recorded by autograd. The residual stream and its gradient are f32, everything
// else is of the compute type. Every tensor is contiguous and has T rows.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PASS_ELEMENTWISE_LAYERS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PASS_ELEMENTWISE_LAYERS_H_

#include <torch/types.h>

#include "gpu_trainer/model/rope.h"

namespace whetstone {

// Returns x [T, C] f32 + delta [T, C] as f32.
torch::Tensor ResidualAdd(const torch::Tensor& x, const torch::Tensor& delta);

struct RmsNormResult {
  torch::Tensor y;     // [T, C], the weight's dtype
  torch::Tensor rstd;  // [T] f32
};
// x is [T, C] f32, weight [C].
RmsNormResult RmsNormForward(const torch::Tensor& x, const torch::Tensor& weight, double eps);
// dx [T, C] f32 += the gradient of x; dweight [C] f32 += that of the weight (undefined: not
// wanted).
void RmsNormBackward(const torch::Tensor& dy, const torch::Tensor& x, const torch::Tensor& weight,
                     const torch::Tensor& rstd, torch::Tensor dx, torch::Tensor dweight);

// HeadRange is the heads of a row of qkv that share one norm: `count` from `first` on, of head_dim
// numbers each.
struct HeadRange {
  int64_t first;
  int64_t count;
  int64_t head_dim;
};
// Does RMS norm of every such head by itself, in place; weight [D].
void HeadNormInPlace(torch::Tensor qkv, const HeadRange& heads, const torch::Tensor& weight,
                     double eps);
// dqkv holds the gradient of the normed heads, `qkv` what HeadNormInPlace was given. Replaces the
// gradient by that of its input; dweight [D] f32 += the weight's.
void HeadNormBackwardInPlace(torch::Tensor dqkv, const torch::Tensor& qkv, const HeadRange& heads,
                             const torch::Tensor& weight, double eps, torch::Tensor dweight);

// Rotates (model/rope.h) the first `heads` heads of every row of qkv in place by positions [T] i32,
// rounded to its type, where RopeInPlace of kernels/elementwise.h stays in f32. `backward` turns
// gradients back.
void RotateInPlace(torch::Tensor qkv, int64_t heads, int64_t head_dim,
                   const torch::Tensor& positions, const RopeTable& table, bool backward);

// Takes gate_up [T, 2I] to [T, I].
torch::Tensor SwigluForward(const torch::Tensor& gate_up);
// dy [T, I] is the gradient of SwigluForward(gate_up), which replaces it; gate_up is replaced by
// its own gradient.
void SwigluBackwardInPlace(torch::Tensor dy, torch::Tensor gate_up);

// Computes sum (f32) += x (any dtype), of one size.
void AccumulateInto(torch::Tensor sum, const torch::Tensor& x);

// Computes sum [m, n] (f32) += a [m, k] b [k, n], both of the compute type. On a GPU the product
// itself adds to the sum; elsewhere it is rounded to the compute type first.
void AccumulateProduct(torch::Tensor sum, const torch::Tensor& a, const torch::Tensor& b);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PASS_ELEMENTWISE_LAYERS_H_
