// Computes c = a b for the small matrices of attention, by AVX-512 (BF16), with b packed.
//
// Bf16 is multiplied in pairs along k, so b holds two rows interleaved: packed row i has, for each
// column, b[2i] and b[2i + 1]. (A float b stays as it is.) a's pairs lie `a_step` apart: kPanelPair
// in a plain matrix, more in one packed like b, which is multiplied transposed by giving its
// columns as rows (a_stride kPanelPair, a_step a packed row). Sums are f32, in an order that
// depends on k alone.
//
// LibTorch's products give bf16 sums, one call for each small matrix costs more than its work, and
// the kernel for few rows (kernels/cpu/linear_avx512.h) spends k = 64 in horizontal sums.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_PANEL_PRODUCT_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_PANEL_PRODUCT_H_

#include <cstdint>

namespace whetstone {

// T is uint16_t (bf16) or float.
template <typename T>
inline constexpr int64_t kPanelPair = sizeof(T) == 2 ? 2 : 1;

template <typename T>
struct PanelArgs {
  const T* a;  // [m, k], rows `a_stride` apart, the pairs of a row `a_step`
  int64_t a_stride;
  int64_t a_step;
  const T* b;  // packed [k, n], packed rows of `b_columns` columns
  int64_t b_columns;
  float* c;  // [m, n], rows `c_stride` apart
  int64_t c_stride;
  int64_t m, n, k;   // k a multiple of kPanelPair
  bool add = false;  // to what c holds
};

// It needs avx512f, bw, vl, dq, and for bf16 avx512bf16 (kernels/cpu/cpu.h).
void PanelProduct(const PanelArgs<uint16_t>& args);
void PanelProduct(const PanelArgs<float>& args);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_PANEL_PRODUCT_H_
