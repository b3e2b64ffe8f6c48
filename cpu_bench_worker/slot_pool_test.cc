#include "cpu_bench_worker/slot_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <tuple>

namespace whetstone {
namespace {

std::vector<CoreGroup> Cores(int n) {
  CoreGroup group;
  for (int i = 0; i < n; ++i) group.cores.push_back(i);
  return {group};
}

// Of a host that hwloc makes up: "numa:2 core:8 pu:1".
std::vector<CoreGroup> Synthetic(const char* description, int cores) {
  setenv("HWLOC_SYNTHETIC", description, 1);
  auto groups = GroupByNode(Cores(cores)[0].cores);
  unsetenv("HWLOC_SYNTHETIC");
  EXPECT_TRUE(groups.ok()) << groups.status();
  return *groups;
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
  const auto one = PlanCores({{.node = 0, .cores = {3}}}, 0);
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(one->slots[0].apart);
  EXPECT_EQ(one->slots[0].kernel, std::vector<int>{3});
  const auto two = PlanCores(Cores(2), 0);
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->slots.size(), 1u);
  EXPECT_EQ(two->slots[0].timer, 0);
  EXPECT_EQ(two->slots[0].kernel, std::vector<int>{1});
  EXPECT_FALSE(two->build_apart);
  EXPECT_FALSE(PlanCores(Cores(2), 2).ok());
  EXPECT_FALSE(PlanCores({}, 0).ok());
}

TEST(PlanCoresTest, ASlotIsOnOneNode) {
  for (const auto& [description, cores, nodes] :
       std::vector<std::tuple<const char*, int, size_t>>{{"numa:2 core:8 pu:1", 16, 2},
                                                         {"numa:4 core:3 pu:2", 24, 4},
                                                         {"pack:2 numa:2 core:2 pu:1", 8, 4},
                                                         {"numa:3 core:5 pu:1", 13, 3}}) {
    const std::vector<CoreGroup> groups = Synthetic(description, cores);
    ASSERT_EQ(groups.size(), nodes) << description;
    std::map<int, int> node_of;
    for (const CoreGroup& group : groups)
      for (const int core : group.cores) node_of[core] = group.node;
    EXPECT_EQ(node_of.size(), static_cast<size_t>(cores));
    for (const int slots : {0, 1, 2, 4}) {
      const auto plan = PlanCores(groups, slots);
      ASSERT_TRUE(plan.ok()) << description << plan.status();
      EXPECT_EQ(plan->nodes, static_cast<int>(nodes));
      if (slots > 0) {
        EXPECT_EQ(plan->slots.size(), static_cast<size_t>(slots));
      }
      std::set<int> given(plan->build.begin(), plan->build.end());
      for (const SlotCores& slot : plan->slots) {
        EXPECT_EQ(node_of.at(slot.timer), slot.node) << description;
        for (const int core : slot.kernel) EXPECT_EQ(node_of.at(core), slot.node) << description;
        given.insert(slot.timer);
        given.insert(slot.kernel.begin(), slot.kernel.end());
      }
      EXPECT_EQ(given.size(), static_cast<size_t>(cores)) << description << " " << slots;
    }
  }
  // Two slots of a host of two nodes are on both.
  const auto plan = PlanCores(Synthetic("numa:2 core:8 pu:1", 16), 2);
  EXPECT_NE(plan->slots[0].node, plan->slots[1].node);
  // One node: nothing to bind.
  EXPECT_EQ(PlanCores(Synthetic("numa:1 core:4 pu:1", 4), 1)->slots[0].node, -1);
  // Nodes of one core each: a slot has to straddle two.
  EXPECT_EQ(PlanCores(Synthetic("numa:2 core:1 pu:1", 2), 0)->slots[0].kernel.size(), 1u);
}

TEST(PlanCoresTest, ThisHostsCoresAreAllSomewhere) {
  const std::vector<int> cores = AllowedCores();
  const auto groups = GroupByNode(cores);
  ASSERT_TRUE(groups.ok()) << groups.status();
  size_t found = 0;
  for (const CoreGroup& group : *groups) found += group.cores.size();
  EXPECT_EQ(found, cores.size());
}

TEST(SlotPoolTest, LendsAsManyKernelCoresAsAskedFor) {
  SlotPool pool(*PlanCores(Cores(8), 1));
  EXPECT_EQ(pool.Acquire(1, nullptr)->cores().kernel.size(), 1u);
  EXPECT_EQ(pool.Acquire(3, nullptr)->cores().kernel.size(), 3u);
  const auto seven = pool.Acquire(7, nullptr);  // the compilers' cores too
  ASSERT_TRUE(seven.ok());
  EXPECT_EQ(seven->cores().kernel.size(), 7u);
  EXPECT_TRUE(seven->cores().apart);
  EXPECT_EQ(
      std::count(seven->cores().kernel.begin(), seven->cores().kernel.end(), seven->cores().timer),
      0);
}

TEST(SlotPoolTest, TheWholeHostIsLentWhenItIsFreeAndNobodyBuildsThen) {
  SlotPool pool(*PlanCores(Cores(8), 0));
  ASSERT_TRUE(pool.plan().build_apart);
  auto small = std::make_unique<SlotPool::Lease>(*pool.Acquire(1, nullptr));
  small->BeginTiming();
  std::atomic<bool> has_host{false};
  std::atomic<bool> built{false};
  std::thread large([&] {
    auto lease = pool.Acquire(8, nullptr);
    ASSERT_TRUE(lease.ok());
    EXPECT_FALSE(lease->cores().apart) << "no core is left for the timer";
    EXPECT_EQ(lease->cores().kernel.size(), 8u);
    lease->BeginTiming();
    has_host = true;
    std::thread builder([&] {
      const SlotPool::BuildTurn turn(&pool);
      built = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(built);
    lease->EndTiming();
    builder.join();
  });
  { const SlotPool::BuildTurn beside_a_slot(&pool); }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_host) << "a slot is still taken";
  small.reset();
  large.join();
  EXPECT_TRUE(has_host);
  EXPECT_TRUE(pool.Acquire(1, nullptr).ok()) << "given back";
}

TEST(SlotPoolTest, OneSlotOneHolder) {
  SlotPool pool(*PlanCores(Cores(2), 0));
  const absl::Status three = pool.Acquire(3, nullptr).status();
  EXPECT_EQ(three.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(three.message(),
            "the problem asks for compile.threads: 3, but this worker has 2 cores; lower it, or "
            "measure on a host of at least 4 (one for the timer)");
  EXPECT_FALSE(pool.Acquire(2, nullptr)->cores().apart);
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

TEST(SlotPoolTest, AnotherSlotIsGivenOnlyWhereOneIsFree) {
  SlotPool pool(*PlanCores({{.cores = {0, 1, 2, 3}}}, 2));
  auto first = pool.Acquire(1, nullptr);
  ASSERT_TRUE(first.ok());
  {
    const auto other = pool.TryAcquireOther(*first);
    ASSERT_TRUE(other.has_value());
    EXPECT_NE(other->index(), first->index());
    EXPECT_FALSE(pool.TryAcquireOther(*first).has_value());
  }
  EXPECT_TRUE(pool.TryAcquireOther(*first).has_value()) << "given back";
}

TEST(SlotPoolTest, NobodyBuildsWhileSomebodyTimes) {
  SlotPool pool(*PlanCores(Cores(2), 0));
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
