// Says which GPU kernels (kernels/cuda/cuda_kernels.h) serve tensors on a device.
//
//   if (const CudaKernels* kernels = KernelsFor(x.device())) {
//     const LaunchStream stream(x.device());
//     if (Launched("rms_norm", kernels->rms_norm({…}, stream.handle()))) return y;
//   }
//   … LibTorch's operators
//
// None serve a CPU (it has its own, kernels/simd_kernels.h), a build without nvcc, and a process
// with WHETSTONE_PLAIN_KERNELS in its environment. After the first launch that fails none serve
// this process any more: a warning says why, and LibTorch's operators do the work. Thread-safe but
// for EmulateKernelsForTesting.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_CHOICE_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_CHOICE_H_

#include <c10/core/DeviceGuard.h>
#include <torch/types.h>

#include "gpu_trainer/kernels/cuda/cuda_kernels.h"

namespace whetstone {

const CudaKernels* KernelsFor(torch::Device device);

// This is the stream that LibTorch queues this thread's work on; null for a CPU. While it lives its
// device is the thread's current one: a launch goes there, and the default stream of every device
// is the same null.
class LaunchStream {
 public:
  explicit LaunchStream(torch::Device device);
  CudaStreamHandle handle() const { return handle_; }

 private:
  const c10::OptionalDeviceGuard guard_;
  const CudaStreamHandle handle_;
};

// Tells whether the launch went well. `kernel` names it in the warning.
bool Launched(const char* kernel, LaunchError error);

// Returns the kernels' name for `type`, which is float, bf16 or fp16.
NumberType NumberTypeOf(torch::ScalarType type);

// From now on `kernels` serve CPU tensors; null: none again.
void EmulateKernelsForTesting(const CudaKernels* kernels);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_CHOICE_H_
