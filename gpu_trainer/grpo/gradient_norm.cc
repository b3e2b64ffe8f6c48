#include "gpu_trainer/grpo/gradient_norm.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gpu_trainer/grpo/optimizer_kernels.h"
#include "gpu_trainer/grpo/raw.h"

namespace whetstone {
namespace {

constexpr int64_t kGrain = 1 << 16;

double SumOfSquares(const torch::Tensor& tensor) {
  if (!tensor.is_cpu()) return tensor.square().sum(torch::kDouble).item<double>();
  // Fixed parts, so that the sum does not depend on the number of threads.
  const int64_t parts = (tensor.numel() + kGrain - 1) / kGrain;
  std::vector<double> partial(parts);
  const float* data = Raw<float>(tensor);
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      const int64_t begin = p * kGrain;
      partial[p] =
          kernels::SumOfSquares(data + begin, std::min<int64_t>(kGrain, tensor.numel() - begin));
    }
  });
  double squares = 0;
  for (const double p : partial) squares += p;
  return squares;
}

// "layers.3.qkv" → "layers.3"; what is in no layer is its own.
std::string LayerOf(const std::string& name) {
  if (name.rfind("layers.", 0) != 0) return name;
  return name.substr(0, name.find('.', std::string("layers.").size()));
}

}  // namespace

GradientSize MeasureGradients(const NamedTensors& gradients, bool by_layer, double scale) {
  GradientSize size;
  double total = 0;
  for (const auto& [name, tensor] : gradients) {
    const double squares = SumOfSquares(tensor);
    total += squares;
    if (by_layer) size.layers[LayerOf(name)] += squares;
    if (!std::isfinite(squares)) {
      size.culprit = name;
      break;
    }
  }
  size.total = scale * std::sqrt(total);
  for (auto& [layer, squares] : size.layers) squares = scale * std::sqrt(squares);
  return size;
}

std::string FirstNotFinite(const Weights& weights) {
  for (const auto& [name, tensor] : weights.Named()) {
    if (!torch::isfinite(tensor).all().item<bool>()) return name;
  }
  return "";
}

}  // namespace whetstone
