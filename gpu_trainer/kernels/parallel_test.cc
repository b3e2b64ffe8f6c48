#include "gpu_trainer/kernels/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace whetstone {
namespace {

TEST(ParallelForTest, EveryTaskRunsOnce) {
  for (const int64_t tasks : {0, 1, 2, 3, 1000}) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
      ParallelFor(tasks, [&](int64_t task) { ++runs[static_cast<size_t>(task)]; });
      for (const auto& run : runs) ASSERT_EQ(run.load(), 1);
    }
  }
}

TEST(ParallelForTest, NestedAndConcurrentCallsWork) {
  std::atomic<int64_t> sum{0};
  auto work = [&] {
    for (int repeat = 0; repeat < 20; ++repeat) {
      ParallelFor(10, [&](int64_t) { ParallelFor(10, [&](int64_t i) { sum += i; }); });
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum.load(), 4 * 20 * 10 * 45);
}

}  // namespace
}  // namespace whetstone
