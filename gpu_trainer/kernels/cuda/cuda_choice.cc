#include "gpu_trainer/kernels/cuda/cuda_choice.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <cstdlib>
#include <optional>

namespace whetstone {
namespace {

std::atomic<bool> failed{false};
const CudaKernels* of_cpu = nullptr;

const CudaKernels* KernelsOfGpus() {
#ifdef WHETSTONE_HAVE_NVCC
  static const bool wanted = std::getenv("WHETSTONE_PLAIN_KERNELS") == nullptr;
  return wanted ? &on_cuda::Kernels() : nullptr;
#else
  return nullptr;
#endif
}

CudaStreamHandle HandleOn(torch::Device device) {
  if (device.is_cpu()) return nullptr;
  const c10::impl::VirtualGuardImpl streams(device.type());
  return streams.getStreamNativeHandle(streams.getStream(device));
}

}  // namespace

const CudaKernels* KernelsFor(torch::Device device) {
  if (failed.load(std::memory_order_relaxed)) return nullptr;
  return device.is_cuda() ? KernelsOfGpus() : device.is_cpu() ? of_cpu : nullptr;
}

LaunchStream::LaunchStream(torch::Device device)
    : guard_(device.is_cpu() ? std::nullopt : std::optional(device)), handle_(HandleOn(device)) {}

bool Launched(const char* kernel, LaunchError error) {
  if (error == nullptr) return true;
  if (!failed.exchange(true)) {
    TORCH_WARN("the kernel ", kernel, " can not be launched: ", error,
               "; LibTorch's operators do the work of all kernels from now on");
  }
  return false;
}

NumberType NumberTypeOf(torch::ScalarType type) {
  switch (type) {
    case torch::kBFloat16:
      return NumberType::kBFloat16;
    case torch::kHalf:
      return NumberType::kHalf;
    default:
      TORCH_CHECK(type == torch::kFloat, "no kernel computes in ", c10::toString(type));
      return NumberType::kFloat;
  }
}

void EmulateKernelsForTesting(const CudaKernels* kernels) {
  of_cpu = kernels;
  failed = false;
}

}  // namespace whetstone
