#include "cpu_bench_worker/host/core_thread.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <vector>

namespace whetstone {
namespace {

std::vector<int> OwnCores() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) cores.push_back(i);
  return cores;
}

TEST(CoreThreadTest, DoesItsJobsOnItsCoreOneAfterAnother) {
  for (const int core : OwnCores()) {
    const auto thread = CoreThread::Start(core);
    ASSERT_TRUE(thread.ok()) << thread.status();
    EXPECT_TRUE((*thread)->Through()) << "nothing has begun";
    std::vector<int> seen;
    for (int i = 0; i < 1000; ++i)
      (*thread)->Begin([&seen, core, i] {
        EXPECT_EQ(sched_getcpu(), core);
        seen.push_back(i);
      });
    (*thread)->Await();
    EXPECT_TRUE((*thread)->Through());
    ASSERT_EQ(seen.size(), 1000u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  }
}

TEST(CoreThreadTest, AJobThatRunsIsNotThroughAndItsEndIsWaitedFor) {
  bool done = false;
  {
    const auto thread = CoreThread::Start(OwnCores().back());
    ASSERT_TRUE(thread.ok()) << thread.status();
    std::atomic<bool> go{false};
    (*thread)->Begin([&] {
      while (!go) sched_yield();
    });
    EXPECT_FALSE((*thread)->Through());
    go = true;
    (*thread)->Begin([&] {
      for (int i = 0; i < 20'000; ++i) sched_yield();
      done = true;
    });
  }
  EXPECT_TRUE(done);
}

TEST(CoreThreadTest, ACoreThatIsNotThereIsRefused) {
  EXPECT_EQ(CoreThread::Start(CPU_SETSIZE - 1).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace whetstone
