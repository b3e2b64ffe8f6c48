// A test waits here for something that another process or thread will do. Nowhere else do tests
// sleep: tests/tidy/text_rules_test.cc forbids it.
//
//   ASSERT_TRUE(Eventually([&] { return ready == 3; })) << log;
#ifndef WHETSTONE_COMMON_EVENTUALLY_TESTING_H_
#define WHETSTONE_COMMON_EVENTUALLY_TESTING_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <source_location>
#include <thread>

namespace whetstone {

// Returns whether `condition` comes true within `limit`, which is for failures only: it is
// generous, however busy the machine. Looks every 10 ms. A failure names the line that waited, and
// how long.
inline testing::AssertionResult Eventually(
    const std::function<bool()>& condition, std::chrono::seconds limit = std::chrono::seconds(120),
    const std::source_location& where = std::source_location::current()) {
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    if (condition()) return testing::AssertionSuccess();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  } while (std::chrono::steady_clock::now() < end);
  return testing::AssertionFailure() << where.file_name() << ":" << where.line() << " waited for "
                                     << limit.count() << " s in vain";
}

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_EVENTUALLY_TESTING_H_
