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

}  // namespace

double GradientNorm(const NamedTensors& gradients, std::string* culprit) {
  double total = 0;
  for (const auto& [name, tensor] : gradients) {
    double squares = 0;
    if (tensor.is_cpu()) {
      // Fixed parts, so that the sum does not depend on the number of threads.
      const int64_t parts = (tensor.numel() + kGrain - 1) / kGrain;
      std::vector<double> partial(parts);
      const float* data = Raw<float>(tensor);
      at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
        for (int64_t p = first; p < last; ++p) {
          const int64_t begin = p * kGrain;
          partial[p] = kernels::SumOfSquares(data + begin,
                                             std::min<int64_t>(kGrain, tensor.numel() - begin));
        }
      });
      for (const double p : partial) squares += p;
    } else {
      squares = tensor.square().sum(torch::kDouble).item<double>();
    }
    if (!std::isfinite(squares)) {
      *culprit = name;
      return squares;
    }
    total += squares;
  }
  return std::sqrt(total);
}

}  // namespace whetstone
