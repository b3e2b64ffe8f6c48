// row_kernels_body.h and optimizer_kernels_body.h are compiled for these instruction sets; BestIsa
// says which of them this machine has.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_ISA_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_ISA_H_

namespace whetstone::kernels {

enum class Isa { kGeneric, kAvx2, kAvx512 };

inline Isa BestIsa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
#endif
  return Isa::kGeneric;
}

}  // namespace whetstone::kernels

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_ISA_H_
