#include "gpu_trainer/ops/elementwise.h"

#include "gpu_trainer/ops/elementwise_cpu.h"
#include "gpu_trainer/ops/parallel.h"

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

bool OnCpu(const torch::Tensor& x) {
  return x.is_cpu() && x.is_contiguous() &&
         (x.scalar_type() == torch::kBFloat16 || x.scalar_type() == torch::kFloat);
}

template <typename T>
torch::Tensor NormCpu(const torch::Tensor& x, const torch::Tensor& delta,
                      const torch::Tensor& weight, double eps) {
  torch::Tensor y = torch::empty_like(x);
  const int64_t n = x.size(-1);
  ForRows(x.numel() / n, n, [&](int64_t row) {
    RmsNormRow(Data<T>(x) + row * n, delta.defined() ? Data<T>(delta) + row * n : nullptr,
               Data<T>(weight), static_cast<float>(eps), n, Data<T>(y) + row * n);
  });
  return y;
}

template <typename T>
torch::Tensor SiluMulCpu(const torch::Tensor& gate_up) {
  const int64_t n = gate_up.size(1) / 2;
  torch::Tensor y = torch::empty({gate_up.size(0), n}, gate_up.options());
  ForRows(gate_up.size(0), n, [&](int64_t row) {
    const T* gate = Data<T>(gate_up) + row * 2 * n;
    SiluMulRow(gate, gate + n, n, Data<T>(y) + row * n);
  });
  return y;
}

template <typename T>
void RopeCpu(const torch::Tensor& x, int64_t heads, const torch::Tensor& cos,
             const torch::Tensor& sin) {
  const int64_t total = x.size(1), d = x.size(2), half = d / 2;
  ForRows(x.size(0), heads * d, [&](int64_t row) {
    for (int64_t h = 0; h < heads; ++h) {
      RopeHead(Data<T>(x) + (row * total + h) * d, Data<float>(cos) + row * half,
               Data<float>(sin) + row * half, half);
    }
  });
}

}  // namespace

torch::Tensor RmsNorm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  if (OnCpu(x)) {
    return x.scalar_type() == torch::kFloat ? NormCpu<float>(x, {}, weight, eps)
                                            : NormCpu<Bf16>(x, {}, weight, eps);
  }
  const torch::Tensor wide = x.to(torch::kFloat);
  const torch::Tensor scale = torch::rsqrt(wide.square().mean(-1, true) + eps);
  return (wide * scale).to(x.scalar_type()) * weight;
}

torch::Tensor AddRmsNorm(const torch::Tensor& x, const torch::Tensor& delta,
                         const torch::Tensor& weight, double eps) {
  if (OnCpu(x) && delta.is_contiguous()) {
    return x.scalar_type() == torch::kFloat ? NormCpu<float>(x, delta, weight, eps)
                                            : NormCpu<Bf16>(x, delta, weight, eps);
  }
  x.add_(delta);
  return RmsNorm(x, weight, eps);
}

torch::Tensor SiluMul(const torch::Tensor& gate_up) {
  if (OnCpu(gate_up)) {
    return gate_up.scalar_type() == torch::kFloat ? SiluMulCpu<float>(gate_up)
                                                  : SiluMulCpu<Bf16>(gate_up);
  }
  const auto halves = gate_up.chunk(2, -1);
  return torch::silu(halves[0]) * halves[1];
}

void RopeInPlace(const torch::Tensor& x, int64_t heads, const torch::Tensor& cos,
                 const torch::Tensor& sin) {
  if (OnCpu(x)) {
    return x.scalar_type() == torch::kFloat ? RopeCpu<float>(x, heads, cos, sin)
                                            : RopeCpu<Bf16>(x, heads, cos, sin);
  }
  const int64_t half = x.size(2) / 2;
  const torch::Tensor part = x.narrow(1, 0, heads);
  const torch::Tensor wide = part.to(torch::kFloat);
  const torch::Tensor a = wide.narrow(2, 0, half), b = wide.narrow(2, half, half);
  const torch::Tensor c = cos.unsqueeze(1), s = sin.unsqueeze(1);
  part.copy_(torch::cat({a * c - b * s, b * c + a * s}, 2));
}

}  // namespace whetstone
