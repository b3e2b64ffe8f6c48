// What decoding computes with on a CPU, for T float or Bf16.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_KERNELS_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_KERNELS_H_

#include <cstdint>

#include "gpu_trainer/kernels/cpu/decode_attention.h"
#include "gpu_trainer/kernels/cpu/decode_linear.h"

namespace whetstone {

template <typename T>
struct DecodeKernels {
  // Computes columns [n_begin, n_end) of y.
  void (*linear_columns)(const LinearArgs<T>& args, int64_t n_begin, int64_t n_end);

  // Adds the first `length` tokens of `kv` to every row's softmax.
  void (*attend)(const AttentionState<T>& state, const PackedKv<T>& kv, int64_t length);
};

// Returns those for this processor, which has them (HasProductKernels of kernels/cpu/cpu.h).
template <typename T>
const DecodeKernels<T>& Decoding();

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_KERNELS_H_
