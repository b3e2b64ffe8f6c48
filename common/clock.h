// Time is a seam: code that waits takes a Clock, and tests give it one they move by hand.
#ifndef WHETSTONE_COMMON_CLOCK_H_
#define WHETSTONE_COMMON_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace whetstone {

class Clock {
 public:
  virtual ~Clock() = default;
  // The time is monotonic; only differences mean anything. Thread-safe.
  virtual std::chrono::nanoseconds Now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

// Returns the host's calendar time, which may jump, in seconds since 1970.
inline double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The same in microseconds.
inline int64_t UnixMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_CLOCK_H_
