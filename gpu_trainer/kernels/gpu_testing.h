// Why a test that needs a GPU is skipped.
//
//   if (!NoGpuReason().empty()) GTEST_SKIP() << NoGpuReason();
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_GPU_TESTING_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_GPU_TESTING_H_

#include <torch/cuda.h>

#include <string>

namespace whetstone {

// Empty where LibTorch can use a GPU.
inline std::string NoGpuReason() {
  return torch::cuda::is_available() ? "" : "there is no GPU that LibTorch can use";
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_GPU_TESTING_H_
