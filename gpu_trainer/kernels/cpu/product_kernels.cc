#include "gpu_trainer/kernels/cpu/bf16.h"
#include "gpu_trainer/kernels/cpu/cpu.h"
#include "gpu_trainer/kernels/cpu/decode_kernels.h"
#include "gpu_trainer/kernels/cpu/panel_kernels.h"

namespace whetstone {

namespace avx2 {
void Fill(DecodeKernels<float>* out);
void Fill(PanelKernels<float>* out);
}  // namespace avx2
namespace avx512 {
void Fill(DecodeKernels<float>* out);
void Fill(DecodeKernels<Bf16>* out);
void Fill(PanelKernels<float>* out);
void Fill(PanelKernels<uint16_t>* out);
}  // namespace avx512

namespace {

template <typename Table>
Table Best() {
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
  static const auto best = Best<DecodeKernels<T>>();
  return best;
}
template const DecodeKernels<float>& Decoding();
template const DecodeKernels<Bf16>& Decoding();

template <typename T>
const PanelKernels<T>& Panels() {
  static const auto best = Best<PanelKernels<T>>();
  return best;
}
template const PanelKernels<float>& Panels();
template const PanelKernels<uint16_t>& Panels();

}  // namespace whetstone
