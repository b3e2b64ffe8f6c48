// Says where SIMD kernels compute: float and bf16 on the CPU, products and attention only where the
// processor has the instructions (kernels/cpu/cpu.h). All else, fp16 and whatever lies on a GPU,
// goes through LibTorch's operators; so computing in fp16 on a CPU, slow as it is, tests what a GPU
// runs.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_SIMD_KERNELS_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_SIMD_KERNELS_H_

#include <torch/types.h>

#include "gpu_trainer/kernels/cpu/cpu.h"

namespace whetstone {

inline bool SimdKernelsServe(torch::Device device, torch::ScalarType compute) {
  return device.is_cpu() && (compute == torch::kFloat || compute == torch::kBFloat16);
}

// `x` is a tensor of the compute type.
inline bool SimdKernelsServe(const torch::Tensor& x) {
  return SimdKernelsServe(x.device(), x.scalar_type());
}

// The same of products and attention.
inline bool ProductKernelsServe(torch::Device device, torch::ScalarType compute) {
  return SimdKernelsServe(device, compute) && HasProductKernels(compute == torch::kBFloat16);
}
inline bool ProductKernelsServe(const torch::Tensor& x) {
  return ProductKernelsServe(x.device(), x.scalar_type());
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_SIMD_KERNELS_H_
