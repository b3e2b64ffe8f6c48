// Tells the memory of this process and machine, in bytes.
#ifndef WHETSTONE_GPU_TRAINER_PROFILE_MEMORY_H_
#define WHETSTONE_GPU_TRAINER_PROFILE_MEMORY_H_

#include <cstdint>

namespace whetstone {

// Returns what this process may still take: the kernel's MemAvailable, or what the control group
// that limits it leaves, whichever is less.
int64_t FreeMemoryBytes();

// Returns the most this process has had in memory so far.
int64_t PeakMemoryBytes();

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_MEMORY_H_
