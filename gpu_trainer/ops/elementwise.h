// The small steps between a decoder's matrix products, for inference: no gradients. Each rounds
// where transformers rounds, so that bf16 results stay close to its own.
#ifndef WHETSTONE_GPU_TRAINER_OPS_ELEMENTWISE_H_
#define WHETSTONE_GPU_TRAINER_OPS_ELEMENTWISE_H_

#include <torch/torch.h>

namespace whetstone {

// Root mean square normalisation (Zhang and Sennrich, arXiv 1910.07467): x / sqrt(mean(x^2) + eps)
// in f32, rounded, times weight. x [rows, C], weight [C] → [rows, C], dtype kept.
torch::Tensor RmsNorm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

// x += delta in place (both [rows, C], contiguous), then RmsNorm(x).
torch::Tensor AddRmsNorm(const torch::Tensor& x, const torch::Tensor& delta,
                         const torch::Tensor& weight, double eps);

// gate_up [rows, 2I], gate first → silu(gate) * up [rows, I].
torch::Tensor SiluMul(const torch::Tensor& gate_up);

// Rotates the first `heads` heads of each row in place. x [rows, heads_total, D] contiguous; cos
// and sin [rows, D/2] f32 hold each row's own angles (model/rope.h).
void RopeInPlace(const torch::Tensor& x, int64_t heads, const torch::Tensor& cos,
                 const torch::Tensor& sin);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_OPS_ELEMENTWISE_H_
