// Waiting for something that another process or thread will do.
#ifndef WHETSTONE_TESTS_SYSTEM_EVENTUALLY_H_
#define WHETSTONE_TESTS_SYSTEM_EVENTUALLY_H_

#include <chrono>
#include <functional>
#include <thread>

namespace whetstone {

// Whether `condition` comes true within `limit`; looks every 20 ms.
inline bool ComesTrue(const std::function<bool()>& condition, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_SYSTEM_EVENTUALLY_H_
