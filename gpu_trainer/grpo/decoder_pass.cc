#include "gpu_trainer/grpo/decoder_pass.h"

#include <algorithm>
#include <utility>

#include "gpu_trainer/grpo/train_ops.h"

namespace whetstone {
namespace {

// y = x W^T + b, with W [out, in] as transformers stores it.
torch::Tensor Linear(const torch::Tensor& x, const torch::Tensor& weight,
                     const torch::Tensor& bias = {}) {
  return bias.defined() ? torch::addmm(bias, x, weight.t()) : torch::mm(x, weight.t());
}

// Adds dy^T x to the weight's gradient.
void AddWeightGradient(const torch::Tensor& dy, const torch::Tensor& x, torch::Tensor gradient) {
  AccumulateInto(std::move(gradient), torch::mm(dy.t(), x));
}

}  // namespace

DecoderPass::DecoderPass(const ModelConfig& config, const Weights& weights)
    : config_(config),
      weights_(weights),
      shape_{.heads = config.heads, .kv_heads = config.kv_heads, .head_dim = config.head_dim},
      query_heads_{.first = 0, .count = config.heads, .head_dim = config.head_dim},
      key_heads_{.first = config.heads, .count = config.kv_heads, .head_dim = config.head_dim} {}

int64_t DecoderPass::KeptBytesPerToken(const ModelConfig& c, torch::ScalarType dtype) {
  const int64_t numbers = c.qkv_rows() + c.heads * c.head_dim + 2 * c.intermediate;
  const int64_t f32 = 2 * c.hidden + 2 + c.heads;
  return c.layers * (numbers * static_cast<int64_t>(torch::elementSize(dtype)) + 4 * f32);
}

torch::Tensor DecoderPass::Forward(const PackedBatch& batch, bool for_backward) {
  torch::NoGradGuard no_grad;
  const torch::Device device = weights_.device();
  const int64_t t = static_cast<int64_t>(batch.ids.size());
  blocks_ = batch.blocks;
  ids_ = torch::from_blob(const_cast<int32_t*>(batch.ids.data()), {t}, torch::kInt)
             .to(torch::kLong)
             .to(device);
  positions_ = torch::from_blob(const_cast<int32_t*>(batch.positions.data()), {t}, torch::kInt)
                   .clone()
                   .to(device);
  const int64_t length = *std::max_element(batch.positions.begin(), batch.positions.end()) + 1;
  if (!rope_.cos.defined() || rope_.cos.size(0) < length) {
    rope_ = MakeRopeTable(config_, std::max<int64_t>(length, 512), device);
  }

  kept_.clear();
  kept_.resize(for_backward ? weights_.layers.size() : 0);
  torch::Tensor x = weights_.embed.index_select(0, ids_).to(torch::kFloat);
  for (size_t l = 0; l < weights_.layers.size(); ++l) {
    x = LayerForward(weights_.layers[l], x, for_backward ? &kept_[l] : nullptr);
  }
  auto [y, rstd] = RmsNormForward(x, weights_.final_norm, config_.rms_eps);
  if (for_backward) {
    last_ = std::move(x);
    last_rstd_ = std::move(rstd);
  }
  return y;
}

void DecoderPass::NormAndRotate(const LayerWeights& w, torch::Tensor qkv) const {
  if (config_.qk_norm) {
    HeadNormInPlace(qkv, query_heads_, w.q_norm, config_.rms_eps);
    HeadNormInPlace(qkv, key_heads_, w.k_norm, config_.rms_eps);
  }
  RopeInPlace(qkv, config_.heads + config_.kv_heads, config_.head_dim, positions_, rope_,
              /*backward=*/false);
}

torch::Tensor DecoderPass::LayerForward(const LayerWeights& w, const torch::Tensor& x,
                                        Kept* kept) const {
  auto [normed, input_rstd] = RmsNormForward(x, w.input_norm, config_.rms_eps);
  torch::Tensor qkv = Linear(normed, w.qkv, w.qkv_bias);
  const torch::Tensor raw = kept != nullptr && config_.qk_norm ? qkv.clone() : qkv;
  NormAndRotate(w, qkv);
  AttentionResult attention = AttentionForward(shape_, blocks_, qkv);
  torch::Tensor middle = ResidualAdd(x, Linear(attention.out, w.o));

  auto [normed2, middle_rstd] = RmsNormForward(middle, w.post_norm, config_.rms_eps);
  torch::Tensor gate_up = Linear(normed2, w.gate_up);
  torch::Tensor y = ResidualAdd(middle, Linear(SwigluForward(gate_up), w.down));
  if (kept != nullptr) {
    *kept = {.input = x,
             .input_rstd = input_rstd,
             .qkv = raw,
             .attention = attention,
             .middle = middle,
             .middle_rstd = middle_rstd,
             .gate_up = gate_up};
  }
  return y;
}

torch::Tensor DecoderPass::LayerBackward(const LayerWeights& w, Kept kept, torch::Tensor dy,
                                         LayerWeights& g) const {
  // MLP. dy, the gradient of the layer's result, is also that of the residual past it.
  const torch::ScalarType compute = w.down.scalar_type();
  {
    const torch::Tensor dy_rounded = dy.to(compute);
    AddWeightGradient(dy_rounded, SwigluForward(kept.gate_up), g.down);
    SwigluBackwardInPlace(torch::mm(dy_rounded, w.down), kept.gate_up);
  }
  const torch::Tensor& dgate_up = kept.gate_up;
  AddWeightGradient(dgate_up, RmsNormForward(kept.middle, w.post_norm, config_.rms_eps).y,
                    g.gate_up);
  RmsNormBackward(torch::mm(dgate_up, w.gate_up), kept.middle, w.post_norm, kept.middle_rstd, dy,
                  g.post_norm);
  kept.gate_up = torch::Tensor();

  // Attention.
  torch::Tensor dqkv;
  {
    const torch::Tensor dy_rounded = dy.to(compute);
    AddWeightGradient(dy_rounded, kept.attention.out, g.o);
    const torch::Tensor qkv = config_.qk_norm ? kept.qkv.clone() : kept.qkv;
    if (config_.qk_norm) NormAndRotate(w, qkv);
    dqkv = AttentionBackward(shape_, blocks_, qkv, kept.attention, torch::mm(dy_rounded, w.o));
  }
  RopeInPlace(dqkv, config_.heads + config_.kv_heads, config_.head_dim, positions_, rope_,
              /*backward=*/true);
  if (config_.qk_norm) {
    HeadNormBackwardInPlace(dqkv, kept.qkv, query_heads_, w.q_norm, config_.rms_eps, g.q_norm);
    HeadNormBackwardInPlace(dqkv, kept.qkv, key_heads_, w.k_norm, config_.rms_eps, g.k_norm);
  }
  AddWeightGradient(dqkv, RmsNormForward(kept.input, w.input_norm, config_.rms_eps).y, g.qkv);
  if (w.qkv_bias.defined()) g.qkv_bias.add_(dqkv.sum(0, /*keepdim=*/false, torch::kFloat));
  RmsNormBackward(torch::mm(dqkv, w.qkv), kept.input, w.input_norm, kept.input_rstd, dy,
                  g.input_norm);
  return dy;
}

void DecoderPass::Backward(const torch::Tensor& dhidden, Weights& gradients) {
  torch::NoGradGuard no_grad;
  TORCH_CHECK(!kept_.empty(), "Backward without Forward(for_backward)");
  torch::Tensor dx = torch::zeros_like(last_);
  RmsNormBackward(dhidden.to(weights_.dtype()), last_, weights_.final_norm, last_rstd_, dx,
                  gradients.final_norm);
  for (size_t l = weights_.layers.size(); l-- > 0;) {
    dx = LayerBackward(weights_.layers[l], std::move(kept_[l]), dx, gradients.layers[l]);
  }
  gradients.embed.index_add_(0, ids_, dx);
  kept_.clear();
  last_ = torch::Tensor();
}

}  // namespace whetstone
