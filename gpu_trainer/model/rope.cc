#include "gpu_trainer/model/rope.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "gpu_trainer/model/compute_type.h"

namespace whetstone {
namespace {

// Does what transformers' _compute_llama3_parameters does: low frequencies are stretched by
// `factor`, high ones kept, those between blended.
float Llama3Frequency(float frequency, const RopeScaling& scaling) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double original = static_cast<double>(scaling.original_context);
  if (wavelength > original / scaling.low_freq_factor) {
    return static_cast<float>(frequency / scaling.factor);
  }
  if (wavelength < original / scaling.high_freq_factor) return frequency;
  const double smooth = (original / wavelength - scaling.low_freq_factor) /
                        (scaling.high_freq_factor - scaling.low_freq_factor);
  return static_cast<float>((1 - smooth) * frequency / scaling.factor + smooth * frequency);
}

}  // namespace

RopeTable MakeRopeTable(const ModelConfig& config, int64_t length, torch::Device device) {
  const int64_t half = config.head_dim / 2;
  std::vector<float> frequencies(static_cast<size_t>(half));
  for (int64_t i = 0; i < half; ++i) {
    // The arithmetic is float32, as in transformers, so that far positions agree.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.head_dim);
    float frequency = 1.0f / std::pow(static_cast<float>(config.rope_theta), exponent);
    if (config.rope_scaling) frequency = Llama3Frequency(frequency, *config.rope_scaling);
    frequencies[static_cast<size_t>(i)] = frequency;
  }
  const torch::Tensor inverse = torch::tensor(frequencies);
  const torch::Tensor angles =
      torch::arange(length, torch::kFloat).unsqueeze(1) * inverse.unsqueeze(0);
  return {angles.cos().to(device), angles.sin().to(device)};
}

torch::Tensor ApplyRope(const torch::Tensor& x, const torch::Tensor& cos,
                        const torch::Tensor& sin) {
  const int64_t half = x.size(-1) / 2;
  const torch::Tensor wide = x.to(WideType(x.scalar_type()));
  const torch::Tensor a = wide.narrow(-1, 0, half);
  const torch::Tensor b = wide.narrow(-1, half, half);
  const torch::Tensor c = cos.unsqueeze(-2);
  const torch::Tensor s = sin.unsqueeze(-2);
  return torch::cat({a * c - b * s, b * c + a * s}, -1).to(x.scalar_type());
}

}  // namespace whetstone
