#include "gpu_trainer/kernels/elementwise.h"

#include "gpu_trainer/kernels/cpu/elementwise_cpu.h"
#include "gpu_trainer/kernels/cuda/cuda_choice.h"
#include "gpu_trainer/kernels/parallel.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

template <typename T>
T* Data(const torch::Tensor& t) {
  return static_cast<T*>(t.data_ptr());
}

// Few rows are done before a second thread has woken.
constexpr int64_t kNumbersPerThread = 1 << 15;

template <typename Body>
void ForRows(int64_t rows, int64_t width, const Body& body) {
  if (rows * width < kNumbersPerThread) {
    for (int64_t row = 0; row < rows; ++row) body(row);
  } else {
    ParallelFor(rows, body);
  }
}

template <typename T>
torch::Tensor NormCpu(const torch::Tensor& x, const torch::Tensor& delta,
                      const torch::Tensor& weight, double eps) {
  torch::Tensor y = torch::empty(x.sizes(), weight.options());
  const int64_t n = x.size(1);
  ForRows(x.size(0), n, [&](int64_t row) {
    RmsNormRow(Data<float>(x) + row * n, delta.defined() ? Data<float>(delta) + row * n : nullptr,
               Data<T>(weight), static_cast<float>(eps), n, Data<T>(y) + row * n);
  });
  return y;
}

template <typename T>
torch::Tensor SiluMulCpu(const torch::Tensor& gate_up, torch::ScalarType dtype) {
  const int64_t n = gate_up.size(1) / 2;
  torch::Tensor y = torch::empty({gate_up.size(0), n}, gate_up.options().dtype(dtype));
  ForRows(gate_up.size(0), n, [&](int64_t row) {
    const float* gate = Data<float>(gate_up) + row * 2 * n;
    SiluMulRow(gate, gate + n, n, Data<T>(y) + row * n);
  });
  return y;
}

}  // namespace

torch::Tensor RmsNorm(const torch::Tensor& x, const torch::Tensor& delta,
                      const torch::Tensor& weight, double eps) {
  const PartScope scope(Part::kDecodeElementwise);
  const CudaKernels* const kernels = KernelsFor(x.device());
  if (kernels != nullptr && x.size(1) <= kNormWidthMax) {
    torch::Tensor y = torch::empty(x.sizes(), weight.options());
    const RmsNormArgs args = {
        .x = Data<float>(x),
        .delta = delta.defined() ? Data<float>(delta) : nullptr,
        .weight = weight.const_data_ptr(),
        .y = y.data_ptr(),
        .rstd = nullptr,
        .rows = x.size(0),
        .width = x.size(1),
        .eps = static_cast<float>(eps),
        .type = NumberTypeOf(weight.scalar_type()),
    };
    if (Launched("rms_norm", kernels->rms_norm(args, LaunchStream(x.device()).handle()))) return y;
  }
  if (x.is_cpu() && weight.scalar_type() == torch::kFloat) {
    return NormCpu<float>(x, delta, weight, eps);
  }
  if (x.is_cpu() && weight.scalar_type() == torch::kBFloat16) {
    return NormCpu<Bf16>(x, delta, weight, eps);
  }
  if (delta.defined()) x.add_(delta);
  const torch::Tensor scale = torch::rsqrt(x.square().mean(-1, true) + eps);
  return (x * scale * weight).to(weight.scalar_type());
}

void RmsNormHeadsInPlace(const torch::Tensor& x, int64_t first, int64_t count,
                         const torch::Tensor& weight, double eps) {
  const PartScope scope(Part::kDecodeElementwise);
  if (!x.is_cpu()) {
    const torch::Tensor heads = x.narrow(1, first, count);
    heads.mul_(torch::rsqrt(heads.square().mean(-1, true) + eps)).mul_(weight);
    return;
  }
  const torch::Tensor w = weight.to(torch::kFloat);  // It has D numbers.
  const int64_t total = x.size(1), d = x.size(2);
  ForRows(x.size(0), count * d, [&](int64_t row) {
    for (int64_t head = first; head < first + count; ++head) {
      float* numbers = Data<float>(x) + (row * total + head) * d;
      RmsNormRow(numbers, nullptr, Data<float>(w), static_cast<float>(eps), d, numbers);
    }
  });
}

torch::Tensor SiluMul(const torch::Tensor& gate_up, torch::ScalarType dtype) {
  const PartScope scope(Part::kDecodeElementwise);
  if (const CudaKernels* kernels = KernelsFor(gate_up.device())) {
    const int64_t rows = gate_up.size(0), width = gate_up.size(1) / 2;
    torch::Tensor y = torch::empty({rows, width}, gate_up.options().dtype(dtype));
    const SiluMulArgs args = {.gate_up = Data<float>(gate_up),
                              .y = y.data_ptr(),
                              .rows = rows,
                              .width = width,
                              .type = NumberTypeOf(dtype)};
    if (Launched("silu_mul", kernels->silu_mul(args, LaunchStream(gate_up.device()).handle())))
      return y;
  }
  if (gate_up.is_cpu() && dtype == torch::kFloat) return SiluMulCpu<float>(gate_up, dtype);
  if (gate_up.is_cpu() && dtype == torch::kBFloat16) return SiluMulCpu<Bf16>(gate_up, dtype);
  const auto halves = gate_up.chunk(2, -1);
  return (torch::silu(halves[0]) * halves[1]).to(dtype);
}

void RopeInPlace(const torch::Tensor& x, int64_t heads, const torch::Tensor& cos,
                 const torch::Tensor& sin) {
  const PartScope scope(Part::kDecodeElementwise);
  const int64_t total = x.size(1), d = x.size(2), half = d / 2;
  if (x.is_cpu()) {
    ForRows(x.size(0), heads * d, [&](int64_t row) {
      for (int64_t h = 0; h < heads; ++h) {
        RopeHead(Data<float>(x) + (row * total + h) * d, Data<float>(cos) + row * half,
                 Data<float>(sin) + row * half, half);
      }
    });
    return;
  }
  const torch::Tensor part = x.narrow(1, 0, heads);
  const torch::Tensor a = part.narrow(2, 0, half), b = part.narrow(2, half, half);
  const torch::Tensor c = cos.unsqueeze(1), s = sin.unsqueeze(1);
  part.copy_(torch::cat({a * c - b * s, b * c + a * s}, 2));
}

}  // namespace whetstone
