// Tells how much memory tensors on a device may still take.
#ifndef WHETSTONE_GPU_TRAINER_PROFILE_DEVICE_MEMORY_H_
#define WHETSTONE_GPU_TRAINER_PROFILE_DEVICE_MEMORY_H_

#include <torch/types.h>

#include <cstdint>

namespace whetstone {

// Returns the bytes that nobody uses, and that this process keeps for its next tensors: LibTorch's
// cache on a GPU, that of reuse_memory.h on the CPU.
int64_t FreeTensorBytes(torch::Device device);

// Returns the most that tensors on a GPU have held at one time in this process.
int64_t PeakGpuBytes(torch::Device gpu);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_DEVICE_MEMORY_H_
