#include "cpu_bench_worker/slot_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace whetstone {
namespace {

std::vector<int> Cores(int n) {
  std::vector<int> cores;
  for (int i = 0; i < n; ++i) cores.push_back(i);
  return cores;
}

TEST(PlanCoresTest, NoCoreIsGivenTwice) {
  for (int n = 2; n <= 130; ++n) {
    for (const int slots : {0, 1, n / 2}) {
      const auto plan = PlanCores(Cores(n), slots);
      ASSERT_TRUE(plan.ok()) << n << " " << slots << plan.status();
      std::multiset<int> given;
      for (const SlotCores& slot : plan->slots) {
        EXPECT_TRUE(slot.apart);
        EXPECT_FALSE(slot.kernel.empty()) << n << " " << slots;
        given.insert(slot.timer);
        given.insert(slot.kernel.begin(), slot.kernel.end());
      }
      if (plan->build_apart) given.insert(plan->build.begin(), plan->build.end());
      for (const int core : given) EXPECT_EQ(given.count(core), 1u) << n << " " << slots;
      if (slots > 0) {
        EXPECT_EQ(plan->slots.size(), static_cast<size_t>(slots));
      }
    }
  }
}

TEST(PlanCoresTest, SmallHosts) {
  const auto one = PlanCores({3}, 0);
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(one->slots[0].apart);
  EXPECT_EQ(one->slots[0].kernel, std::vector<int>{3});
  const auto two = PlanCores({0, 1}, 0);
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->slots.size(), 1u);
  EXPECT_EQ(two->slots[0].timer, 0);
  EXPECT_EQ(two->slots[0].kernel, std::vector<int>{1});
  EXPECT_FALSE(two->build_apart);
  EXPECT_FALSE(PlanCores({0, 1}, 2).ok());
  EXPECT_FALSE(PlanCores({}, 0).ok());
}

TEST(SlotPoolTest, OneSlotOneHolder) {
  SlotPool pool(*PlanCores({0, 1}, 0));
  EXPECT_EQ(pool.Acquire(2, nullptr).status().code(), absl::StatusCode::kResourceExhausted);
  std::atomic<bool> cancelled{false};
  absl::Status waited;
  {
    auto first = pool.Acquire(1, nullptr);
    ASSERT_TRUE(first.ok());
    std::thread second([&] { waited = pool.Acquire(1, &cancelled).status(); });
    cancelled = true;
    pool.Notify();
    second.join();
  }
  EXPECT_TRUE(absl::IsCancelled(waited)) << waited;
  EXPECT_TRUE(pool.Acquire(1, nullptr).ok()) << "given back";
}

TEST(SlotPoolTest, NobodyBuildsWhileSomebodyTimes) {
  SlotPool pool(*PlanCores({0, 1}, 0));
  std::atomic<int> building{0};
  std::atomic<bool> overlap{false};
  std::vector<std::thread> builders;
  for (int b = 0; b < 3; ++b)
    builders.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const SlotPool::BuildTurn turn(&pool);
        ++building;
        std::this_thread::yield();
        --building;
      }
    });
  for (int i = 0; i < 50; ++i) {
    auto lease = pool.Acquire(1, nullptr);
    ASSERT_TRUE(lease.ok());
    lease->BeginTiming();
    if (building != 0) overlap = true;
    lease->EndTiming();
  }
  for (std::thread& builder : builders) builder.join();
  EXPECT_FALSE(overlap);
}

}  // namespace
}  // namespace whetstone
