// The device that this process computes on is chosen and made ready before anything else.
//
//   ASSIGN_OR_RETURN(DeviceChoice choice, ChooseDevice("auto", FactsOfThisHost()));
//   UseDevice(choice.device);                  // and again at the start of every computing thread
#ifndef WHETSTONE_GPU_TRAINER_PROFILE_DEVICE_H_
#define WHETSTONE_GPU_TRAINER_PROFILE_DEVICE_H_

#include <torch/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "gpu_trainer/profile/driver.h"

namespace whetstone {

struct DeviceChoice {
  torch::Device device = torch::kCPU;  // Of several GPUs it is the first.
  // With "auto" it says why the CPU computes though this host has a GPU's driver (WhyNoGpu).
  std::string unused_gpu;
};

// `name` is "cpu", "cuda", or "auto", which is CUDA where there is a GPU that can be used.
// INVALID_ARGUMENT: another name. FAILED_PRECONDITION: "cuda" where none can be used.
absl::StatusOr<DeviceChoice> ChooseDevice(const std::string& name, const GpuFacts& facts);

// Initialises the device's runtime, without which LibTorch can not even tell its memory, and makes
// it this thread's current device: what names no device of its own works there. Nothing for a CPU.
// Throws c10::Error.
void UseDevice(torch::Device device);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_DEVICE_H_
