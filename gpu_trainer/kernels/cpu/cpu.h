// Tells the abilities of this machine's processor, asked for once.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_CPU_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_CPU_H_

#include <cstdlib>

namespace whetstone {

// Tell what the product kernels of product_tables.h may be called for.
inline bool HasAvx2Kernels() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
inline bool HasAvx512Kernels() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bf16");
  return has;
}

// Tells whether the SIMD kernels of products and attention (decode_kernels.h, panel_kernels.h) run:
// for bf16 they need AVX-512 F, BW, VL, DQ and BF16, for float AVX2 and FMA. Elsewhere, and where
// the environment has WHETSTONE_PLAIN_KERNELS (to compare the two, or to doubt one), the same work
// is done by LibTorch's operators.
inline bool HasProductKernels(bool bf16) {
  static const bool wanted = std::getenv("WHETSTONE_PLAIN_KERNELS") == nullptr;
  return wanted && (HasAvx512Kernels() || (!bf16 && HasAvx2Kernels()));
}

// Tells whether LibTorch multiplies bf16 on this processor as fast as fp32: oneDNN's products need
// AVX-512. Elsewhere a product goes element by element, and takes some twenty times as long.
inline bool MultipliesBf16() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_CPU_H_
