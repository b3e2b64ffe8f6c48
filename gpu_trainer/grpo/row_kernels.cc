#include "gpu_trainer/grpo/row_kernels.h"

namespace whetstone::kernels {

#define WHETSTONE_DECLARE_ISA(isa)                                           \
  namespace isa {                                                            \
  template <typename T>                                                      \
  void Fill(RowKernels<T>* out);                                             \
  SoftmaxRow SoftmaxStatistics(const float* logits, int64_t c, float scale); \
  }
WHETSTONE_DECLARE_ISA(generic)
#if defined(__x86_64__)
WHETSTONE_DECLARE_ISA(avx2)
WHETSTONE_DECLARE_ISA(avx512)
#endif
#undef WHETSTONE_DECLARE_ISA

namespace {

enum class Isa { kGeneric, kAvx2, kAvx512 };

Isa BestIsa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
#endif
  return Isa::kGeneric;
}

}  // namespace

template <typename T>
const RowKernels<T>& Row() {
  static const RowKernels<T> best = [] {
    RowKernels<T> table;
    generic::Fill(&table);
#if defined(__x86_64__)
    if (BestIsa() == Isa::kAvx2) avx2::Fill(&table);
    if (BestIsa() == Isa::kAvx512) avx512::Fill(&table);
#endif
    return table;
  }();
  return best;
}
template const RowKernels<float>& Row();
template const RowKernels<uint16_t>& Row();

SoftmaxRow SoftmaxStatistics(const float* logits, int64_t c, float scale) {
  static const Isa isa = BestIsa();
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return avx512::SoftmaxStatistics(logits, c, scale);
  if (isa == Isa::kAvx2) return avx2::SoftmaxStatistics(logits, c, scale);
#endif
  return generic::SoftmaxStatistics(logits, c, scale);
}

double SumOfSquares(const float* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) {
      lanes[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
    }
  }
  for (; i < n; ++i) lanes[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace whetstone::kernels
