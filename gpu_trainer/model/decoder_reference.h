// The tests' decoder is a few plain lines of fp64 autograd, one sequence at a time. It is the judge
// of decoder_pass, head_loss and attention.
#ifndef WHETSTONE_GPU_TRAINER_MODEL_DECODER_REFERENCE_H_
#define WHETSTONE_GPU_TRAINER_MODEL_DECODER_REFERENCE_H_

#include <torch/types.h>

#include <cmath>
#include <vector>

#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/rope.h"
#include "gpu_trainer/model/weights.h"

namespace whetstone::reference {

// The decoder computes in microseconds: it has grouped-query attention, odd head counts, and widths
// that are no multiple of a vector's.
inline ModelConfig TinyConfig(ModelFamily family = ModelFamily::kLlama, bool tied = true) {
  ModelConfig config;
  config.family = family;
  config.layers = 2;
  config.hidden = 36;
  config.heads = 6;
  config.kv_heads = 2;
  config.head_dim = 8;
  config.intermediate = 52;
  config.vocab = 97;
  config.context = 256;
  config.tied = tied;
  config.qkv_bias = family == ModelFamily::kQwen2;
  config.qk_norm = family == ModelFamily::kQwen3;
  return config;
}

// Returns random weights large enough that attention and MLP matter.
inline Weights TinyWeights(const ModelConfig& config, torch::ScalarType dtype, uint64_t seed = 1) {
  Weights weights = RandomWeights(config, torch::kFloat, seed);
  Weights out = EmptyWeights(config, dtype, torch::kCPU);
  const auto from = weights.Named();
  const auto to = out.Named();
  torch::NoGradGuard no_grad;
  for (size_t i = 0; i < to.size(); ++i) {
    torch::Tensor copy = to[i].second;
    copy.copy_(from[i].second.dim() > 1 ? from[i].second * 8 : from[i].second);
    if (to[i].first.find("bias") != std::string::npos) copy.fill_(0.1);
    // All ones would hide a mistake in where the weights of a head's norm go.
    if (to[i].first.find("k_norm") != std::string::npos) {
      copy.copy_(torch::linspace(0.5, 1.5, copy.numel()));
    }
    if (to[i].first.find("q_norm") != std::string::npos) {
      copy.copy_(torch::linspace(2, 1, copy.numel()));
    }
  }
  return out;
}

// Returns the same numbers as fp64 leaves that record gradients.
inline Weights DoubleLeaves(const ModelConfig& config, const Weights& weights) {
  Weights leaves = EmptyWeights(config, torch::kDouble, torch::kCPU);
  const auto from = weights.Named();
  const auto to = leaves.Named();
  for (size_t i = 0; i < to.size(); ++i) {
    torch::Tensor leaf = to[i].second;
    leaf.detach().copy_(from[i].second);
    leaf.set_requires_grad(true);
  }
  return leaves;
}

inline torch::Tensor Norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  return x * (x.square().mean(-1, true) + eps).rsqrt() * weight;
}

// Returns the logits [n, V] of one sequence.
inline torch::Tensor Logits(const ModelConfig& c, const Weights& w,
                            const std::vector<int32_t>& ids) {
  const int64_t n = static_cast<int64_t>(ids.size()), d = c.head_dim;
  const RopeTable rope = MakeRopeTable(c, n, torch::kCPU);
  const auto rotate = [&](const torch::Tensor& x) {  // [n, heads, D]
    const torch::Tensor a = x.narrow(-1, 0, d / 2), b = x.narrow(-1, d / 2, d / 2);
    const torch::Tensor cos = rope.cos.to(torch::kDouble).unsqueeze(1);
    const torch::Tensor sin = rope.sin.to(torch::kDouble).unsqueeze(1);
    return torch::cat({a * cos - b * sin, b * cos + a * sin}, -1);
  };
  torch::Tensor x = w.embed.index_select(
      0, torch::tensor(std::vector<int64_t>(ids.begin(), ids.end()), torch::kLong));
  const torch::Tensor hidden_future =
      torch::full({n, n}, -INFINITY, torch::kDouble).triu(/*diagonal=*/1);
  for (const LayerWeights& l : w.layers) {
    torch::Tensor qkv = torch::mm(Norm(x, l.input_norm, c.rms_eps), l.qkv.t());
    if (l.qkv_bias.defined()) qkv = qkv + l.qkv_bias;
    qkv = qkv.view({n, c.heads + 2 * c.kv_heads, d});
    const int64_t r = c.heads / c.kv_heads;
    torch::Tensor q = qkv.narrow(1, 0, c.heads), k = qkv.narrow(1, c.heads, c.kv_heads);
    if (l.q_norm.defined()) {
      q = Norm(q, l.q_norm, c.rms_eps);
      k = Norm(k, l.k_norm, c.rms_eps);
    }
    q = rotate(q).transpose(0, 1);
    k = rotate(k).repeat_interleave(r, 1).transpose(0, 1);
    const torch::Tensor v =
        qkv.narrow(1, c.heads + c.kv_heads, c.kv_heads).repeat_interleave(r, 1).transpose(0, 1);
    const torch::Tensor scores =
        torch::matmul(q, k.transpose(1, 2)) / std::sqrt(static_cast<double>(d)) + hidden_future;
    const torch::Tensor out =
        torch::matmul(torch::softmax(scores, -1), v).transpose(0, 1).reshape({n, c.heads * d});
    x = x + torch::mm(out, l.o.t());
    const torch::Tensor gate_up = torch::mm(Norm(x, l.post_norm, c.rms_eps), l.gate_up.t());
    const auto halves = gate_up.chunk(2, -1);
    x = x + torch::mm(torch::silu(halves[0]) * halves[1], l.down.t());
  }
  return torch::mm(Norm(x, w.final_norm, c.rms_eps), w.lm_head.t());
}

// Returns the log-probabilities [ids.size() - 1] of every token after the first.
inline torch::Tensor Logprobs(const ModelConfig& c, const Weights& w,
                              const std::vector<int32_t>& ids, double temperature = 1) {
  const torch::Tensor log_p = torch::log_softmax(Logits(c, w, ids) / temperature, -1);
  const int64_t n = static_cast<int64_t>(ids.size());
  const torch::Tensor next =
      torch::tensor(std::vector<int64_t>(ids.begin() + 1, ids.end()), torch::kLong);
  return log_p.narrow(0, 0, n - 1).gather(1, next.unsqueeze(1)).squeeze(1);
}

}  // namespace whetstone::reference

#endif  // WHETSTONE_GPU_TRAINER_MODEL_DECODER_REFERENCE_H_
