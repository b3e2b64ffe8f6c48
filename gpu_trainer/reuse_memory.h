// Keeps the memory of large tensors for the next ones instead of giving it back to the kernel.
#ifndef WHETSTONE_GPU_TRAINER_REUSE_MEMORY_H_
#define WHETSTONE_GPU_TRAINER_REUSE_MEMORY_H_

#include <cstdint>

namespace whetstone {

// Makes LibTorch allocate CPU tensors of 1 MiB and more from a cache of mapped blocks. Call once,
// early in main; tensors made before keep their own memory. Thread-safe afterwards.
//
// Why: malloc maps a large tensor anew and unmaps it when it is freed, and the kernel clears every
// page again at first touch. An update allocates some 40 GB of temporaries: a third of its
// processor time went into that.
//
// A freed block serves the next tensor of its size, or up to an eighth smaller. Before a block is
// mapped, as many bytes of unused ones are unmapped, so the process never holds more than the most
// it ever had in use (and that eighth). Blocks are asked to lie in huge pages.
void ReuseTensorMemory();

// Gives unused blocks back to the kernel.
void ReleaseUnusedTensorMemory();

struct TensorMemory {
  int64_t used_bytes = 0;    // in tensors, blocks of 1 MiB and more
  int64_t unused_bytes = 0;  // kept for the next ones
  int64_t mapped = 0;        // blocks mapped since the start
};
TensorMemory CurrentTensorMemory();

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_REUSE_MEMORY_H_
