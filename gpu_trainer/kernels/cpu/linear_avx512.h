// Computes y = x W^T (+ bias) for the few rows that decoding has, by AVX-512 (BF16). It is internal
// to kernels/.
//
// Both operands are read as they lie in memory, along k, so weights need no packing and an update
// of them is seen at once; the price, a horizontal sum per output, is small beside k >= 500 (a copy
// packed for broadcasts was tried: no faster from 12 rows on, and two cores fill the memory either
// way with few). What counts is that weights are asked for ahead and evenly. One
// output's additions always happen in the same order, whatever the number of rows, so a row's bits
// do not depend on the batch it is computed in.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_LINEAR_AVX512_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_LINEAR_AVX512_H_

#include <cstdint>

#include "gpu_trainer/kernels/cpu/bf16.h"

namespace whetstone {

// All are row-major and contiguous.
template <typename In, typename Out>
struct LinearArgs {
  const In* x;     // [rows, k]
  const In* w;     // [n, k]
  const In* bias;  // [n] or null
  Out* y;          // [rows, n]
  int64_t rows, n, k;
};

// Computes columns [n_begin, n_end) of y. Needs avx512f, bw, vl, dq, and for Bf16 avx512bf16.
void LinearColumns(const LinearArgs<Bf16, float>& args, int64_t n_begin, int64_t n_end);
void LinearColumns(const LinearArgs<float, float>& args, int64_t n_begin, int64_t n_end);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_LINEAR_AVX512_H_
