#include "gpu_trainer/grpo/gradient_norm.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/status_macros.h"
#include "gpu_trainer/grpo/optimizer_kernels.h"
#include "gpu_trainer/grpo/raw.h"
#include "gpu_trainer/ops/hand_kernels.h"

namespace whetstone {
namespace {

constexpr int64_t kGrain = 1 << 16;

double SumOfSquares(const torch::Tensor& tensor) {
  if (!HandKernelsServe(tensor)) return tensor.square().sum(torch::kDouble).item<double>();
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

absl::StatusOr<GradientSize> MeasureGradients(const NamedTensors& gradients, bool by_layer,
                                              double scale, RankGroup* sharers) {
  std::vector<double> squares;
  for (const auto& [name, tensor] : gradients) squares.push_back(SumOfSquares(tensor));
  if (sharers != nullptr) {
    ASSIGN_OR_RETURN(const std::vector<std::vector<double>> all,
                     sharers->GatherNumbers("the size of gradients", squares));
    std::fill(squares.begin(), squares.end(), 0);
    for (const std::vector<double>& one : all) {
      for (size_t i = 0; i < squares.size(); ++i) squares[i] += one[i];
    }
  }
  GradientSize size;
  double total = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::string& name = gradients[i].first;
    total += squares[i];
    if (by_layer) size.layers[LayerOf(name)] += squares[i];
    if (!std::isfinite(squares[i]) && size.culprit.empty()) size.culprit = name;
  }
  size.total = scale * std::sqrt(total);
  for (auto& [layer, sum] : size.layers) sum = scale * std::sqrt(sum);
  return size;
}

std::string FirstNotFinite(const Weights& weights) {
  for (const auto& [name, tensor] : weights.Named()) {
    if (!torch::isfinite(tensor).all().item<bool>()) return name;
  }
  return "";
}

}  // namespace whetstone
