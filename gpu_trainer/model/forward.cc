#include "gpu_trainer/model/forward.h"

#include "gpu_trainer/kernels/elementwise.h"
#include "gpu_trainer/kernels/linear.h"

namespace whetstone {

torch::Tensor Forward(const ModelConfig& config, const Weights& weights, const torch::Tensor& ids,
                      const torch::Tensor& cos, const torch::Tensor& sin, const AttendFn& attend) {
  torch::NoGradGuard no_grad;
  const int64_t n = ids.size(0);
  // x is the residual stream; every addition to it is fused with the norm that follows.
  const torch::Tensor x = weights.embed.index_select(0, ids).to(torch::kFloat);
  torch::Tensor delta;
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const LayerWeights& layer = weights.layers[i];
    const torch::Tensor normed = RmsNorm(x, delta, layer.input_norm, config.rms_eps);
    const torch::Tensor qkv = Linear(normed, layer.qkv, layer.qkv_bias)
                                  .view({n, config.heads + 2 * config.kv_heads, config.head_dim});
    if (config.qk_norm) {
      RmsNormHeadsInPlace(qkv, 0, config.heads, layer.q_norm, config.rms_eps);
      RmsNormHeadsInPlace(qkv, config.heads, config.kv_heads, layer.k_norm, config.rms_eps);
    }
    RopeInPlace(qkv, config.heads + config.kv_heads, cos, sin);
    delta = Linear(attend(static_cast<int64_t>(i), qkv), layer.o);
    const torch::Tensor gate_up =
        Linear(RmsNorm(x, delta, layer.post_norm, config.rms_eps), layer.gate_up);
    delta = Linear(SiluMul(gate_up, weights.dtype()), layer.down);
  }
  return RmsNorm(x, delta, weights.final_norm, config.rms_eps);
}

}  // namespace whetstone
