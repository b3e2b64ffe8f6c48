#include "gpu_trainer/grpo/adamw.h"

#include <ATen/Parallel.h>

#include <cmath>

#include "gpu_trainer/grpo/raw.h"
#include "gpu_trainer/grpo/row_kernels.h"

namespace whetstone {
namespace {

constexpr int64_t kGrain = 1 << 16;

void StepOnDevice(const kernels::AdamWStep& step, const torch::Tensor& gradient,
                  torch::Tensor moment1, torch::Tensor moment2, torch::Tensor master) {
  const torch::Tensor g = gradient * step.gradient_scale;
  moment1.mul_(step.beta1).add_(g, 1 - step.beta1);
  moment2.mul_(step.beta2).addcmul_(g, g, 1 - step.beta2);
  master.mul_(1 - step.decay)
      .addcdiv_(moment1, moment2.sqrt().div_(step.sqrt_correction2).add_(step.eps),
                -step.lr / step.correction1);
}

}  // namespace

AdamW::AdamW(const ModelConfig& config, const Weights& weights)
    : masters_(EmptyWeights(config, torch::kFloat, weights.device())),
      moments1_(EmptyWeights(config, torch::kFloat, weights.device())),
      moments2_(EmptyWeights(config, torch::kFloat, weights.device())) {
  const auto from = weights.Named();
  const auto to = masters_.Named();
  for (size_t i = 0; i < to.size(); ++i) to[i].second.detach().copy_(from[i].second);
  Reset();
}

void AdamW::Reset() {
  Clear(moments1_);
  Clear(moments2_);
  steps_ = 0;
}

void AdamW::CopyMastersTo(Weights& weights) const {
  const auto from = masters_.Named();
  const auto to = weights.Named();
  for (size_t i = 0; i < to.size(); ++i) to[i].second.detach().copy_(from[i].second);
}

void AdamW::Step(const AdamWSettings& settings, double gradient_scale, const Weights& gradients,
                 Weights& weights) {
  ++steps_;
  const double t = static_cast<double>(steps_);
  kernels::AdamWStep step{
      .gradient_scale = static_cast<float>(gradient_scale),
      .lr = static_cast<float>(settings.lr),
      .beta1 = static_cast<float>(settings.beta1),
      .beta2 = static_cast<float>(settings.beta2),
      .eps = static_cast<float>(settings.eps),
      .decay = 0,
      .correction1 = static_cast<float>(1 - std::pow(settings.beta1, t)),
      .sqrt_correction2 = static_cast<float>(std::sqrt(1 - std::pow(settings.beta2, t)))};
  const auto named = weights.Named();
  const auto g = gradients.Named(), m = moments1_.Named(), v = moments2_.Named(),
             w = masters_.Named();
  for (size_t i = 0; i < named.size(); ++i) {
    torch::Tensor weight = named[i].second;
    step.decay = weight.dim() > 1 ? static_cast<float>(settings.lr * settings.weight_decay) : 0.0f;
    if (!weight.is_cpu()) {
      StepOnDevice(step, g[i].second, m[i].second, v[i].second, w[i].second);
      weight.copy_(w[i].second);
      continue;
    }
    DispatchCompute(weight, [&]<typename T>() {
      at::parallel_for(0, weight.numel(), kGrain, [&](int64_t begin, int64_t end) {
        kernels::Row<T>().adamw(step, Raw<float>(g[i].second) + begin, end - begin,
                                Raw<float>(m[i].second) + begin, Raw<float>(v[i].second) + begin,
                                Raw<float>(w[i].second) + begin, Raw<T>(weight) + begin);
      });
    });
  }
}

void Clear(Weights& tensors) {
  for (const auto& [name, tensor] : tensors.Named()) tensor.detach().zero_();
}

}  // namespace whetstone
