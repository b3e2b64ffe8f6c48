// Two made-up GPUs for tests on a CPU, of the device type that LibTorch leaves to others. They know
// what code asks a GPU for besides computing: to be initialised, a current device of each thread,
// streams, events, memory. As with CUDA, the allocator says nothing before the device is
// initialised.
//
//   FakeGpus& gpus = FakeGpus::Get();
//   UseDevice(gpus.device(1));
#ifndef WHETSTONE_GPU_TRAINER_PROFILE_FAKE_GPU_TESTING_H_
#define WHETSTONE_GPU_TRAINER_PROFILE_FAKE_GPU_TESTING_H_

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/types.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace whetstone {

class FakeGpus {
 public:
  static FakeGpus& Get() {
    static auto* const gpus = new FakeGpus();  // LibTorch keeps pointers into it.
    return *gpus;
  }

  static torch::Device device(int index) {
    return {torch::kPrivateUse1, static_cast<c10::DeviceIndex>(index)};
  }
  // This thread's current device.
  static int current() { return Current(); }
  bool initialised() const { return hooks_.initialised; }
  // The current device of the thread that last asked for memory statistics.
  int asked_from() const { return memory_.asked_from; }

  // Seconds on the devices' clock: an event remembers when it was recorded.
  double now_s = 0;
  int64_t events = 0;   // that exist
  bool broken = false;  // No event can be recorded any more.
  int64_t free_bytes = 0, reserved_bytes = 0, allocated_bytes = 0, peak_bytes = 0;

 private:
  static int& Current() {
    thread_local int current = 0;
    return current;
  }

  struct Hooks final : at::PrivateUse1HooksInterface {
    void init() const override { initialised = true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return initialised; }
    mutable std::atomic<bool> initialised = false;
  };

  struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return torch::kPrivateUse1; }
    c10::Device exchangeDevice(c10::Device to) const override {
      return device(std::exchange(Current(), to.index()));
    }
    c10::Device getDevice() const override { return device(Current()); }
    void setDevice(c10::Device to) const override { Current() = to.index(); }
    void uncheckedSetDevice(c10::Device to) const noexcept override { Current() = to.index(); }
    c10::Stream getStream(c10::Device of) const override {
      return c10::Stream(c10::Stream::DEFAULT, of);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
    void* getStreamNativeHandle(const c10::Stream stream) const override {
      return reinterpret_cast<void*>(intptr_t{0x100} + stream.device_index());
    }
    c10::DeviceIndex deviceCount() const noexcept override { return 2; }
    void record(void** event, const c10::Stream&, const c10::DeviceIndex,
                const c10::EventFlag) const override {
      FakeGpus& gpus = Get();
      TORCH_CHECK(!gpus.broken, "the device is broken");
      if (*event == nullptr) ++gpus.events;
      delete static_cast<double*>(*event);
      *event = new double(gpus.now_s);
    }
    bool queryEvent(void*) const override { return true; }
    void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
      if (event != nullptr) --Get().events;
      delete static_cast<double*>(event);
    }
    void synchronizeEvent(void*) const override {}
    double elapsedTime(void* from, void* to, const c10::DeviceIndex) const override {
      return 1e3 * (*static_cast<double*>(to) - *static_cast<double*>(from));
    }
  };

  struct Memory final : c10::DeviceAllocator {
    bool initialized() override { return Get().initialised(); }
    c10::DataPtr allocate(size_t) override { TORCH_CHECK(false, "no memory can be had"); }
    void copy_data(void*, const void*, size_t) const override {}
    void emptyCache(c10::MempoolId_t) override {}
    void recordStream(const c10::DataPtr&, c10::Stream) override {}
    void resetAccumulatedStats(c10::DeviceIndex) override {}
    void resetPeakStats(c10::DeviceIndex) override {}
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
      TORCH_CHECK(initialized(), "the allocator is not initialised");
      const FakeGpus& gpus = Get();
      asked_from = current();
      c10::CachingDeviceAllocator::DeviceStats stats;
      const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
      stats.reserved_bytes[all].current = gpus.reserved_bytes;
      stats.allocated_bytes[all].current = gpus.allocated_bytes;
      stats.allocated_bytes[all].peak = gpus.peak_bytes;
      return stats;
    }
    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
      return {static_cast<size_t>(Get().free_bytes), size_t{1} << 40};
    }
    std::atomic<int> asked_from = -1;
  };

  FakeGpus() {
    at::RegisterPrivateUse1HooksInterface(&hooks_);
    c10::impl::DeviceGuardImplRegistrar(torch::kPrivateUse1, &guard_);
    c10::SetAllocator(torch::kPrivateUse1, &memory_);
  }

  Hooks hooks_;
  Guard guard_;
  Memory memory_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_FAKE_GPU_TESTING_H_
