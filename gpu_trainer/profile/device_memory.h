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

// A profile tells of the process's and the host's memory on a CPU, of a GPU's own on a GPU.
struct MemoryUse {
  int64_t peak_bytes = 0;
  int64_t headroom_bytes = 0;
};
MemoryUse MemoryUseOf(torch::Device device);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_DEVICE_MEMORY_H_
