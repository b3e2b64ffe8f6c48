// Events in a device's queue tell the times of its work.
#ifndef WHETSTONE_GPU_TRAINER_PROFILE_EVENT_CLOCK_H_
#define WHETSTONE_GPU_TRAINER_PROFILE_EVENT_CLOCK_H_

#include <torch/types.h>

#include <memory>

#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {

// Makes the clock of the stream that LibTorch queues this thread's work on. Null for a CPU, whose
// work is done when a call returns.
std::unique_ptr<DeviceClock> MakeDeviceClock(torch::Device device);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_EVENT_CLOCK_H_
