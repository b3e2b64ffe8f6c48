#include "gpu_trainer/model/forward.h"

#include "gpu_trainer/ops/elementwise.h"
#include "gpu_trainer/ops/linear.h"

namespace whetstone {

torch::Tensor Forward(const ModelConfig& config, const Weights& weights, const torch::Tensor& ids,
                      const torch::Tensor& cos, const torch::Tensor& sin, const AttendFn& attend) {
  torch::NoGradGuard no_grad;
  const int64_t n = ids.size(0);
  // The residual stream; every addition to it is fused with the norm that follows.
  const torch::Tensor x = weights.embed.index_select(0, ids);
  torch::Tensor delta;
  auto norm = [&](const torch::Tensor& weight) {
    return delta.defined() ? AddRmsNorm(x, delta, weight, config.rms_eps)
                           : RmsNorm(x, weight, config.rms_eps);
  };
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const LayerWeights& layer = weights.layers[i];
    const torch::Tensor qkv = Linear(norm(layer.input_norm), layer.qkv, layer.qkv_bias)
                                  .view({n, config.heads + 2 * config.kv_heads, config.head_dim});
    RopeInPlace(qkv, config.heads + config.kv_heads, cos, sin);
    delta = Linear(attend(static_cast<int64_t>(i), qkv), layer.o);
    delta = Linear(SiluMul(Linear(norm(layer.post_norm), layer.gate_up)), layer.down);
  }
  return norm(weights.final_norm);
}

torch::Tensor CausalAttention(const ModelConfig& config, const torch::Tensor& qkv) {
  torch::NoGradGuard no_grad;
  const int64_t n = qkv.size(0);
  auto heads = [&](int64_t begin, int64_t count) {
    return qkv.narrow(1, begin, count).transpose(0, 1).unsqueeze(0);  // [1, count, n, D]
  };
  const torch::Tensor q = heads(0, config.heads);
  const torch::Tensor k = heads(config.heads, config.kv_heads);
  const torch::Tensor v = heads(config.heads + config.kv_heads, config.kv_heads);
  const torch::Tensor out = at::scaled_dot_product_attention(
      q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, /*is_causal=*/true, /*scale=*/std::nullopt,
      /*enable_gqa=*/config.heads != config.kv_heads);
  return out.squeeze(0).transpose(0, 1).reshape({n, config.heads * config.head_dim});
}

}  // namespace whetstone
