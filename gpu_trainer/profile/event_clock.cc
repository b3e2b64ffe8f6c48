#include "gpu_trainer/profile/event_clock.h"

#include <c10/core/Event.h>

#include <utility>

namespace whetstone {
namespace {

class EventClock final : public DeviceClock {
 public:
  explicit EventClock(torch::Device device) : device_(device), guard_(device.type()) {}

  void Mark() noexcept override {
    try {
      // Events of other kinds do not know their time.
      c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
      event.record(guard_.getStream(device_));
      marks_.push_back(std::move(event));
    } catch (const std::exception&) {
      failed_ = true;
    }
  }

  std::vector<double> Seconds() noexcept override {
    std::vector<double> seconds;
    try {
      if (!failed_ && !marks_.empty()) marks_.back().synchronize();
      for (size_t i = 1; !failed_ && i < marks_.size(); ++i) {
        seconds.push_back(1e-3 * marks_[i - 1].elapsedTime(marks_[i]));
      }
    } catch (const std::exception&) {
      failed_ = true;
    }
    if (!marks_.empty()) marks_.erase(marks_.begin(), marks_.end() - 1);
    if (failed_) seconds.clear();
    return seconds;
  }

 private:
  const torch::Device device_;
  const c10::impl::VirtualGuardImpl guard_;
  std::vector<c10::Event> marks_;
  bool failed_ = false;  // Whoever uses the device next is told why.
};

}  // namespace

std::unique_ptr<DeviceClock> MakeDeviceClock(torch::Device device) {
  if (device.is_cpu()) return nullptr;
  return std::make_unique<EventClock>(device);
}

}  // namespace whetstone
