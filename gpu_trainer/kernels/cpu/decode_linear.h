// Computes y = x W^T (+ bias) for the few rows that decoding has, by SIMD kernels. It is internal
// to kernels/ and engine/.
//
// Both operands are read as they lie in memory, along k, so weights need no packing and an update
// of them is seen at once; the price, a horizontal sum per output, is small beside k >= 500 (a copy
// packed for broadcasts was tried: no faster from 12 rows on, and two cores fill the memory either
// way with few). What counts is that weights are asked for ahead and evenly. One
// output's additions always happen in the same order, whatever the number of rows, so a row's bits
// do not depend on the batch it is computed in.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_LINEAR_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_LINEAR_H_

#include <cstdint>

namespace whetstone {

// All are row-major and contiguous.
template <typename T>
struct LinearArgs {
  const T* x;     // [rows, k]
  const T* w;     // [n, k]
  const T* bias;  // [n] or null
  float* y;       // [rows, n]
  int64_t rows, n, k;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_LINEAR_H_
