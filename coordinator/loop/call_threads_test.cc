#include "coordinator/loop/call_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <thread>

#include "common/eventually_testing.h"

namespace whetstone {
namespace {

TEST(CallThreadsTest, CallsThatWaitRunSideBySide) {
  constexpr int kCalls = 20;
  std::promise<void> all_there;
  std::atomic<int> arrived{0};
  const std::shared_future<void> go = all_there.get_future().share();
  CallThreads threads;
  for (int i = 0; i < kCalls; ++i)
    threads.Run([&] {
      if (++arrived == kCalls) all_there.set_value();
      EXPECT_EQ(go.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    });
  EXPECT_EQ(go.wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST(CallThreadsTest, AThreadIsUsedAgain) {
  std::set<std::thread::id> used;
  CallThreads threads;
  // A call is done a moment before its thread is idle, and until then another thread is made: call
  // after call, until one runs where an earlier one did.
  EXPECT_TRUE(Eventually([&] {
    const auto ran_on = std::make_shared<std::promise<std::thread::id>>();
    std::future<std::thread::id> thread = ran_on->get_future();
    threads.Run([ran_on] { ran_on->set_value(std::this_thread::get_id()); });
    return thread.wait_for(std::chrono::seconds(20)) == std::future_status::ready &&
           !used.insert(thread.get()).second;
  }));
}

TEST(CallThreadsTest, TheEndWaitsForWhatRunsAndWhatWasGiven) {
  std::atomic<int> ended{0};
  std::promise<void> leaving;
  const std::shared_future<void> go = leaving.get_future().share();
  {
    CallThreads threads;
    for (int i = 0; i < 8; ++i)
      threads.Run([&] {
        EXPECT_EQ(go.wait_for(std::chrono::seconds(60)), std::future_status::ready);
        ++ended;
      });
    leaving.set_value();  // not one has ended before
  }
  EXPECT_EQ(ended, 8);
}

}  // namespace
}  // namespace whetstone
