// A GPU needs a driver that is not older than this program's LibTorch wants it.
#ifndef WHETSTONE_GPU_TRAINER_PROFILE_DRIVER_H_
#define WHETSTONE_GPU_TRAINER_PROFILE_DRIVER_H_

#include <string>

namespace whetstone {

// CUDA 13.0, which LibTorch 2.11 is built with, begins with this branch of NVIDIA's drivers
// (deploy/setup.sh checks for the same).
inline constexpr int kDriverMin = 580;

// These facts decide whether a GPU of this host can be used.
struct GpuFacts {
  int gpus = 0;             // LibTorch sees so many.
  std::string driver;       // "580.65.06"; empty: none is loaded.
  bool with_cuda = false;   // This program has LibTorch's CUDA half.
  bool gpu_hidden = false;  // CUDA_VISIBLE_DEVICES names none.
};
GpuFacts FactsOfThisHost();

// Returns the version in the text of /proc/driver/nvidia/version; empty: it names none.
std::string DriverVersionIn(const std::string& text);

// Says why no GPU can be used, and what to do; empty: one can, there is none, or it is hidden on
// purpose.
std::string WhyNoGpu(const GpuFacts& facts);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_DRIVER_H_
