#include "gpu_trainer/profile/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace whetstone {

absl::StatusOr<DeviceChoice> ChooseDevice(const std::string& name, const GpuFacts& facts) {
  if (name != "cpu" && name != "cuda" && name != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("--device is '", name, "'; valid: auto, cpu, cuda"));
  }
  DeviceChoice choice;
  if (name == "cpu") return choice;
  if (facts.gpus > 0) {
    choice.device = torch::Device(torch::kCUDA, 0);
    return choice;
  }
  choice.unused_gpu = WhyNoGpu(facts);
  if (name == "auto") return choice;
  return absl::FailedPreconditionError(absl::StrCat(
      "--device is 'cuda', but ",
      choice.unused_gpu.empty() ? "this process sees no GPU; use cpu or auto" : choice.unused_gpu));
}

void UseDevice(torch::Device device) {
  if (device.is_cpu()) return;
  at::globalContext().lazyInitDevice(device.type());
  c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
}

}  // namespace whetstone
