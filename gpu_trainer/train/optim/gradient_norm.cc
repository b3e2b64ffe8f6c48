#include "gpu_trainer/train/optim/gradient_norm.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/kernels/cpu/optimizer_kernels.h"
#include "gpu_trainer/kernels/cpu/raw.h"
#include "gpu_trainer/kernels/cuda/cuda_choice.h"
#include "gpu_trainer/kernels/simd_kernels.h"

namespace whetstone {
namespace {

constexpr int64_t kChunk = 1 << 16;

double SumOfSquares(const torch::Tensor& tensor) {
  if (!SimdKernelsServe(tensor)) return tensor.square().sum(torch::kDouble).item<double>();
  // The chunks are fixed, so that the sum does not depend on the number of threads.
  const int64_t chunks = (tensor.numel() + kChunk - 1) / kChunk;
  std::vector<double> partial(chunks);
  const float* data = Raw<float>(tensor);
  at::parallel_for(0, chunks, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      const int64_t begin = p * kChunk;
      partial[p] =
          kernels::SumOfSquares(data + begin, std::min<int64_t>(kChunk, tensor.numel() - begin));
    }
  });
  double squares = 0;
  for (const double p : partial) squares += p;
  return squares;
}

bool SumByKernel(const torch::Tensor& x, const torch::Tensor& sums) {
  const CudaKernels* const kernels = KernelsFor(x.device());
  if (kernels == nullptr || x.scalar_type() != torch::kFloat || x.device() != sums.device()) {
    return false;
  }
  const SumOfSquaresArgs args = {
      .x = Raw<float>(x), .sums = sums.data_ptr<double>(), .count = x.numel()};
  return Launched("sum_of_squares",
                  kernels->sum_of_squares(args, LaunchStream(x.device()).handle()));
}

// Of each tensor. On a GPU all are waited for at once.
std::vector<double> SumsOfSquares(const NamedTensors& tensors) {
  std::vector<double> squares;
  if (tensors.empty() || tensors[0].second.is_cpu()) {
    for (const auto& [name, tensor] : tensors) squares.push_back(SumOfSquares(tensor));
    return squares;
  }
  const int64_t n = static_cast<int64_t>(tensors.size());
  const torch::Tensor sums =
      torch::zeros({n, kSquareSums}, tensors[0].second.options().dtype(torch::kDouble));
  for (int64_t i = 0; i < n; ++i) {
    const torch::Tensor& x = tensors[static_cast<size_t>(i)].second;
    if (!SumByKernel(x, sums[i])) sums[i][0] = x.square().sum(torch::kDouble);
  }
  const torch::Tensor of_each = sums.sum(1).cpu();
  squares.assign(of_each.data_ptr<double>(), of_each.data_ptr<double>() + n);
  return squares;
}

// A tensor in no layer is a group of its own.
std::string GroupOf(const std::string& name) {
  const std::optional<int64_t> layer = LayerOf(name);
  return layer.has_value() ? absl::StrCat("layers.", *layer) : name;
}

}  // namespace

absl::StatusOr<GradientSize> MeasureGradients(const NamedTensors& gradients, bool by_layer,
                                              double scale, RankGroup* shard_ranks) {
  std::vector<double> squares = SumsOfSquares(gradients);
  if (shard_ranks != nullptr) {
    std::vector<double*> sums;
    for (double& s : squares) sums.push_back(&s);
    RETURN_IF_ERROR(shard_ranks->AllReduceNumbers("the size of gradients", sums));
  }
  GradientSize size;
  double total = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::string& name = gradients[i].first;
    total += squares[i];
    if (by_layer) size.layers[GroupOf(name)] += squares[i];
    if (!std::isfinite(squares[i]) && size.culprit.empty()) size.culprit = name;
  }
  size.total = scale * std::sqrt(total);
  for (auto& [layer, sum] : size.layers) sum = scale * std::sqrt(sum);
  return size;
}

std::string FirstNotFinite(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (!torch::isfinite(tensor).all().item<bool>()) return name;
  }
  return "";
}

}  // namespace whetstone
