#include "gpu_trainer/profile/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>

#include "gpu_trainer/profile/memory.h"
#include "gpu_trainer/profile/reuse_memory.h"

namespace whetstone {

int64_t FreeTensorBytes(torch::Device device) {
  if (device.is_cpu()) return FreeMemoryBytes() + UnusedTensorBytes();
  c10::DeviceAllocator* allocator = c10::getDeviceAllocator(device.type());
  const auto stats = allocator->getDeviceStats(device.index());
  const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<int64_t>(allocator->getMemoryInfo(device.index()).first) +
         stats.reserved_bytes[all].current - stats.allocated_bytes[all].current;
}

int64_t PeakGpuBytes(torch::Device gpu) {
  const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return c10::getDeviceAllocator(gpu.type())->getDeviceStats(gpu.index()).allocated_bytes[all].peak;
}

MemoryUse MemoryUseOf(torch::Device device) {
  if (device.is_cpu()) return {PeakMemoryBytes(), FreeMemoryBytes()};
  return {PeakGpuBytes(device), FreeTensorBytes(device)};
}

}  // namespace whetstone
