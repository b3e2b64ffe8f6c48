#include <cassert>

#include "gpu_trainer/kernels/cpu/cpu.h"
#include "gpu_trainer/kernels/cpu/product_tables.h"

namespace whetstone {
namespace {

template <typename Table>
Table Best(bool bf16) {
  assert(HasProductKernels(bf16));
  Table table = {};
  if (HasAvx512Kernels()) {
    avx512::Fill(&table);
  } else if constexpr (requires { avx2::Fill(&table); }) {
    avx2::Fill(&table);
  }
  return table;
}

}  // namespace

template <typename T>
const DecodeKernels<T>& Decoding() {
  static const auto best = Best<DecodeKernels<T>>(sizeof(T) == 2);
  return best;
}
template const DecodeKernels<float>& Decoding();
template const DecodeKernels<Bf16>& Decoding();

template <typename T>
const PanelKernels<T>& Panels() {
  static const auto best = Best<PanelKernels<T>>(sizeof(T) == 2);
  return best;
}
template const PanelKernels<float>& Panels();
template const PanelKernels<uint16_t>& Panels();

}  // namespace whetstone
