#include "gpu_trainer/kernels/cpu/row_kernels.h"

#include "gpu_trainer/kernels/cpu/isa.h"

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

}  // namespace whetstone::kernels
