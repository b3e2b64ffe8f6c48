#include "coordinator/loop/call_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

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
  std::mutex mutex;
  std::set<std::thread::id> used;
  CallThreads threads;
  for (int i = 0; i < 50; ++i) {
    const auto done = std::make_shared<std::promise<void>>();
    threads.Run([&, done] {
      const std::lock_guard<std::mutex> lock(mutex);
      used.insert(std::this_thread::get_id());
      done->set_value();
    });
    ASSERT_EQ(done->get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
  // A call says that it is done a moment before its thread is idle: then another one is made.
  EXPECT_LT(used.size(), 25u);
}

TEST(CallThreadsTest, TheEndWaitsForWhatRunsAndWhatWasGiven) {
  std::atomic<int> ended{0};
  {
    CallThreads threads;
    for (int i = 0; i < 8; ++i)
      threads.Run([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ++ended;
      });
  }
  EXPECT_EQ(ended, 8);
}

}  // namespace
}  // namespace whetstone
