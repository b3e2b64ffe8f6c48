#include "gpu_trainer/train/pass/decoder_pass.h"

#include <algorithm>
#include <utility>

#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/profile/step_profile.h"
#include "gpu_trainer/train/pass/elementwise_layers.h"

namespace whetstone {
namespace {

double Flops(const torch::Tensor& rows, const torch::Tensor& weight) {
  return 2.0 * static_cast<double>(rows.size(0)) * static_cast<double>(weight.numel());
}

// Returns y = x W^T + b, with W [out, in] as transformers stores it, rounded to the compute type;
// inference (kernels/linear.h) keeps the f32 sums.
torch::Tensor RoundedLinear(const torch::Tensor& x, const torch::Tensor& weight,
                            const torch::Tensor& bias = {}) {
  const PartScope scope(Part::kForwardMatmul, Flops(x, weight));
  return bias.defined() ? torch::addmm(bias, x, weight.t()) : torch::mm(x, weight.t());
}

// Returns dx = dy W.
torch::Tensor InputGradient(const torch::Tensor& dy, const torch::Tensor& weight) {
  const PartScope scope(Part::kBackwardMatmul, Flops(dy, weight));
  return torch::mm(dy, weight);
}

// Collects the gradients of one layer's weights.
class WeightGradients {
 public:
  WeightGradients(size_t layer, Lora* lora) : layer_(static_cast<int64_t>(layer)), lora_(lora) {}

  // For y = x W^T: adds dy^T x to `gradient`, where that is wanted, and to the adapters'.
  void Add(FusedMatrix matrix, const torch::Tensor& dy, const torch::Tensor& x,
           const torch::Tensor& gradient) const {
    if (lora_ != nullptr) lora_->AddGradient(layer_, matrix, dy, x);
    if (!gradient.defined()) return;
    const PartScope scope(Part::kWeightGradient, Flops(dy, gradient));
    AccumulateProduct(gradient, dy.t(), x);
  }

 private:
  const int64_t layer_;
  Lora* const lora_;
};

}  // namespace

DecoderPass::DecoderPass(const ModelConfig& config, const Weights& weights)
    : config_(config),
      weights_(weights),
      shape_{.heads = config.heads, .kv_heads = config.kv_heads, .head_dim = config.head_dim},
      query_heads_{.first = 0, .count = config.heads, .head_dim = config.head_dim},
      key_heads_{.first = config.heads, .count = config.kv_heads, .head_dim = config.head_dim} {}

int64_t DecoderPass::KeptBytesPerToken(const ModelConfig& c, torch::ScalarType dtype, Keep keep) {
  if (keep == Keep::kNothing) return 0;
  if (keep == Keep::kInputs) return c.layers * 4 * c.hidden;
  const int64_t numbers = c.qkv_rows() + c.heads * c.head_dim + 2 * c.intermediate;
  const int64_t f32 = 2 * c.hidden + 2 + c.heads;
  return c.layers * (numbers * static_cast<int64_t>(torch::elementSize(dtype)) + 4 * f32);
}

torch::Tensor DecoderPass::Forward(const PackedBatch& batch, Keep keep, const OnLayer& before) {
  torch::NoGradGuard no_grad;
  const torch::Device device = weights_.device();
  const int64_t t = static_cast<int64_t>(batch.ids.size());
  plan_ = PlanAttention(batch.nodes, device);
  const std::vector<int64_t> ids(batch.ids.begin(), batch.ids.end());
  if (keep != Keep::kNothing) embed_sum_ = RowSum(ids, device);
  positions_ = torch::from_blob(const_cast<int32_t*>(batch.positions.data()), {t}, torch::kInt)
                   .clone()
                   .to(device);
  const int64_t length = *std::max_element(batch.positions.begin(), batch.positions.end()) + 1;
  if (!rope_.cos.defined() || rope_.cos.size(0) < length) {
    rope_ = MakeRopeTable(config_, std::max<int64_t>(length, 512), device);
  }

  kept_.clear();
  kept_.resize(keep == Keep::kNothing ? 0 : weights_.layers.size());
  torch::Tensor x = weights_.embed.index_select(0, torch::tensor(ids, torch::kLong).to(device))
                        .to(WideType(weights_.dtype()));
  for (size_t l = 0; l < weights_.layers.size(); ++l) {
    if (before != nullptr) before(l);
    torch::Tensor y = LayerForward(weights_.layers[l], x, keep == Keep::kAll ? &kept_[l] : nullptr);
    if (keep == Keep::kInputs) kept_[l].input = std::move(x);
    x = std::move(y);
  }
  auto [y, rstd] = RmsNormForward(x, weights_.final_norm, config_.rms_eps);
  if (keep != Keep::kNothing) {
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
  RotateInPlace(qkv, config_.heads + config_.kv_heads, config_.head_dim, positions_, rope_,
                /*backward=*/false);
}

torch::Tensor DecoderPass::LayerForward(const LayerWeights& w, const torch::Tensor& x,
                                        Kept* kept) const {
  auto [normed, input_rstd] = RmsNormForward(x, w.input_norm, config_.rms_eps);
  torch::Tensor qkv = RoundedLinear(normed, w.qkv, w.qkv_bias);
  const torch::Tensor raw = kept != nullptr && config_.qk_norm ? qkv.clone() : qkv;
  NormAndRotate(w, qkv);
  AttentionResult attention = AttentionForward(shape_, plan_, qkv);
  torch::Tensor middle = ResidualAdd(x, RoundedLinear(attention.out, w.o));

  auto [normed2, middle_rstd] = RmsNormForward(middle, w.post_norm, config_.rms_eps);
  torch::Tensor gate_up = RoundedLinear(normed2, w.gate_up);
  torch::Tensor y = ResidualAdd(middle, RoundedLinear(SwigluForward(gate_up), w.down));
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

torch::Tensor DecoderPass::LayerBackward(size_t l, Kept kept, torch::Tensor dy, LayerWeights& g,
                                         Lora* lora) const {
  const LayerWeights& w = weights_.layers[l];
  const WeightGradients weight_gradients(l, lora);
  // The MLP comes first. dy, the gradient of the layer's result, is also that of the residual past
  // it.
  const torch::ScalarType compute = w.down.scalar_type();
  {
    const torch::Tensor dy_rounded = dy.to(compute);
    // `activated` is first the gradient of what the MLP activates, then that itself.
    const torch::Tensor activated = InputGradient(dy_rounded, w.down);
    SwigluBackwardInPlace(activated, kept.gate_up);
    weight_gradients.Add(FusedMatrix::kDown, dy_rounded, activated, g.down);
  }
  const torch::Tensor& dgate_up = kept.gate_up;
  weight_gradients.Add(FusedMatrix::kGateUp, dgate_up,
                       RmsNormForward(kept.middle, w.post_norm, config_.rms_eps).y, g.gate_up);
  RmsNormBackward(InputGradient(dgate_up, w.gate_up), kept.middle, w.post_norm, kept.middle_rstd,
                  dy, g.post_norm);
  kept.gate_up = torch::Tensor();

  // The attention comes second.
  torch::Tensor dqkv;
  {
    const torch::Tensor dy_rounded = dy.to(compute);
    weight_gradients.Add(FusedMatrix::kO, dy_rounded, kept.attention.out, g.o);
    const torch::Tensor qkv = config_.qk_norm ? kept.qkv.clone() : kept.qkv;
    if (config_.qk_norm) NormAndRotate(w, qkv);
    dqkv = AttentionBackward(shape_, plan_, qkv, kept.attention, InputGradient(dy_rounded, w.o));
  }
  RotateInPlace(dqkv, config_.heads + config_.kv_heads, config_.head_dim, positions_, rope_,
                /*backward=*/true);
  if (config_.qk_norm) {
    HeadNormBackwardInPlace(dqkv, kept.qkv, query_heads_, w.q_norm, config_.rms_eps, g.q_norm);
    HeadNormBackwardInPlace(dqkv, kept.qkv, key_heads_, w.k_norm, config_.rms_eps, g.k_norm);
  }
  weight_gradients.Add(FusedMatrix::kQkv, dqkv,
                       RmsNormForward(kept.input, w.input_norm, config_.rms_eps).y, g.qkv);
  if (g.qkv_bias.defined())
    g.qkv_bias.add_(dqkv.sum(0, /*keepdim=*/false, g.qkv_bias.scalar_type()));
  RmsNormBackward(InputGradient(dqkv, w.qkv), kept.input, w.input_norm, kept.input_rstd, dy,
                  g.input_norm);
  return dy;
}

void DecoderPass::Backward(const torch::Tensor& dhidden, Weights& gradients, Lora* lora,
                           const OnLayer& before, const OnLayer& complete) {
  torch::NoGradGuard no_grad;
  TORCH_CHECK(!kept_.empty(), "Backward without a Forward that keeps");
  torch::Tensor dx = torch::zeros_like(last_);
  RmsNormBackward(dhidden.to(weights_.dtype()), last_, weights_.final_norm, last_rstd_, dx,
                  gradients.final_norm);
  for (size_t l = weights_.layers.size(); l-- > 0;) {
    if (before != nullptr) before(l);
    if (!kept_[l].qkv.defined()) {
      const PartScope scope(Part::kRecompute);
      const torch::Tensor input = kept_[l].input;
      LayerForward(weights_.layers[l], input, &kept_[l]);
    }
    dx = LayerBackward(l, std::move(kept_[l]), dx, gradients.layers[l], lora);
    if (complete != nullptr) complete(l);
  }
  if (gradients.embed.defined()) embed_sum_.AddTo(gradients.embed, dx);
  Forget();
}

void DecoderPass::Forget() {
  kept_.clear();
  last_ = last_rstd_ = torch::Tensor();
}

}  // namespace whetstone
