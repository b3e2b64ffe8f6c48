// A test waits here for something that another process or thread will do.
#ifndef WHETSTONE_COMMON_EVENTUALLY_TESTING_H_
#define WHETSTONE_COMMON_EVENTUALLY_TESTING_H_

#include <chrono>
#include <functional>
#include <thread>

namespace whetstone {

// Returns whether `condition` comes true within `limit`, which is for failures only; looks every 10
// ms.
inline bool Eventually(const std::function<bool()>& condition,
                       std::chrono::seconds limit = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_EVENTUALLY_TESTING_H_
