#include "cpu_bench_worker/host/slot_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/file.h"

namespace whetstone {
namespace {

std::vector<NumaNode> Cores(int n) {
  NumaNode node;
  for (int i = 0; i < n; ++i) node.cores.push_back({i});
  return {node};
}

// Returns the nodes of a host that hwloc makes up, such as "numa:2 core:8 pu:1".
std::vector<NumaNode> Synthetic(const char* description, int cores) {
  setenv("HWLOC_SYNTHETIC", description, 1);
  std::vector<int> all(static_cast<size_t>(cores));
  std::iota(all.begin(), all.end(), 0);
  auto nodes = GroupByNumaNode(all);
  unsetenv("HWLOC_SYNTHETIC");
  EXPECT_TRUE(nodes.ok()) << nodes.status();
  return *nodes;
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
  const auto one = PlanCores({{.id = 0, .cores = {{3}}}}, 0);
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
  for (const auto& [description, cores, node_count] :
       std::vector<std::tuple<const char*, int, size_t>>{{"numa:2 core:8 pu:1", 16, 2},
                                                         {"numa:4 core:3 pu:2", 24, 4},
                                                         {"pack:2 numa:2 core:2 pu:1", 8, 4},
                                                         {"numa:3 core:5 pu:1", 13, 3}}) {
    const std::vector<NumaNode> nodes = Synthetic(description, cores);
    ASSERT_EQ(nodes.size(), node_count) << description;
    std::map<int, int> node_of;
    for (const NumaNode& node : nodes)
      for (const Siblings& siblings : node.cores)
        for (const int core : siblings) node_of[core] = node.id;
    EXPECT_EQ(node_of.size(), static_cast<size_t>(cores));
    for (const int slots : {0, 1, 2, 4}) {
      const auto plan = PlanCores(nodes, slots);
      ASSERT_TRUE(plan.ok()) << description << plan.status();
      EXPECT_EQ(plan->nodes, static_cast<int>(node_count));
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
      if (!absl::StrContains(description, "pu:2")) {
        EXPECT_EQ(given.size(), static_cast<size_t>(cores)) << description << " " << slots;
      }
    }
  }
  // Two slots of a host of two nodes are on both.
  const auto plan = PlanCores(Synthetic("numa:2 core:8 pu:1", 16), 2);
  EXPECT_NE(plan->slots[0].node, plan->slots[1].node);
  // With one node there is nothing to bind.
  EXPECT_EQ(PlanCores(Synthetic("numa:1 core:4 pu:1", 4), 1)->slots[0].node, -1);
  // Where nodes have one core each, a slot has to straddle two.
  EXPECT_EQ(PlanCores(Synthetic("numa:2 core:1 pu:1", 2), 0)->slots[0].kernel.size(), 1u);
}

TEST(PlanCoresTest, ThisHostsCoresAreAllSomewhere) {
  const std::vector<int> cores = AllowedCores();
  const auto nodes = GroupByNumaNode(cores);
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  size_t found = 0;
  for (const NumaNode& node : *nodes)
    for (const Siblings& siblings : node.cores) found += siblings.size();
  EXPECT_EQ(found, cores.size());
}

TEST(PlanCoresTest, NothingRunsBesideAKernel) {
  for (const auto& [description, cores, node_count, siblings] :
       std::vector<std::tuple<const char*, int, int, int>>{{"numa:1 core:2 pu:2", 4, 1, 2},
                                                           {"numa:1 core:3 pu:2", 6, 1, 2},
                                                           {"numa:1 core:8 pu:2", 16, 1, 2},
                                                           {"numa:2 core:64 pu:2", 256, 2, 2},
                                                           {"numa:1 core:2 pu:4", 8, 1, 4},
                                                           {"numa:1 core:22 pu:4", 88, 1, 4}}) {
    const std::vector<NumaNode> nodes = Synthetic(description, cores);
    // This is each core's node, and which physical core of it.
    std::map<int, std::pair<int, size_t>> physical;
    for (const NumaNode& node : nodes)
      for (size_t i = 0; i < node.cores.size(); ++i)
        for (const int core : node.cores[i]) physical[core] = {node.id, i};
    ASSERT_EQ(physical.size(), static_cast<size_t>(cores));
    // A node's slots have a physical core each, and one for as many timers as it has siblings.
    const int physical_cores = cores / node_count / siblings;
    int apart_max = 0;
    while (apart_max + 1 + apart_max / siblings + 1 <= physical_cores) ++apart_max;
    apart_max *= node_count;
    for (int slots = 0; slots <= cores / 2; ++slots) {
      const auto plan = PlanCores(nodes, slots);
      ASSERT_TRUE(plan.ok()) << description << plan.status();
      EXPECT_EQ(plan->slots_apart_max, apart_max) << description;
      if (slots == 0) {
        EXPECT_GE(plan->slots.size(), 1u) << description;
        EXPECT_LE(plan->slots.size(), static_cast<size_t>(apart_max)) << description;
      } else {
        EXPECT_EQ(plan->slots.size(), static_cast<size_t>(slots)) << description;
      }
      std::multiset<int> given;
      for (const SlotCores& slot : plan->slots) {
        given.insert(slot.kernel.begin(), slot.kernel.end());
        given.insert(slot.timer);
      }
      if (plan->build_apart) given.insert(plan->build.begin(), plan->build.end());
      // This counts the cores in use of each physical core.
      std::map<std::pair<int, size_t>, int> beside;
      for (const int core : given) {
        EXPECT_EQ(given.count(core), 1u) << description << " " << slots;
        ++beside[physical.at(core)];
      }
      EXPECT_EQ(plan->all.size(), static_cast<size_t>(cores));
      std::set<std::pair<int, size_t>> first;
      for (int i = 0; i < node_count * physical_cores; ++i)
        first.insert(physical.at(plan->all[static_cast<size_t>(i)]));
      EXPECT_EQ(first.size(), static_cast<size_t>(node_count * physical_cores)) << description;
      if (slots > apart_max) {
        EXPECT_FALSE(plan->build_apart) << "beside kernels";
        continue;
      }
      std::set<int> idle;
      for (const SlotCores& slot : plan->slots)
        for (const int kernel : slot.kernel) {
          EXPECT_EQ(beside[physical.at(kernel)], 1) << description << " " << slots;
          for (const auto& [core, where] : physical)
            if (core != kernel && where == physical.at(kernel)) idle.insert(core);
        }
      EXPECT_EQ(std::set<int>(plan->idle.begin(), plan->idle.end()), idle);
    }
    EXPECT_FALSE(PlanCores(nodes, cores / 2 + 1).ok()) << description;
  }
}

TEST(PlanCoresTest, TimersAndCompilersShareWhatKernelsDoNot) {
  // Linux numbers siblings far apart.
  const std::vector<NumaNode> eight = {
      {.cores = {{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}}}};
  const auto plan = PlanCores(eight, 0);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->slots.size(), 4u);
  EXPECT_EQ(plan->slots[0].timer, 0);
  EXPECT_EQ(plan->slots[0].kernel, std::vector<int>{1});
  EXPECT_EQ(plan->slots[1].timer, 8);
  EXPECT_EQ(plan->slots[1].kernel, std::vector<int>{2});
  EXPECT_EQ(plan->slots[2].timer, 3);
  EXPECT_EQ(plan->build, (std::vector<int>{6, 14, 7, 15}));
  EXPECT_TRUE(plan->build_apart);
  EXPECT_EQ(plan->idle, (std::vector<int>{9, 10, 12, 13}));
  // Programs of several threads get physical cores first.
  EXPECT_EQ(plan->all, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  // One slot takes as many as there are.
  const auto one = PlanCores(eight, 1);
  EXPECT_EQ(one->slots[0].kernel, (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(one->build, (std::vector<int>{8, 7, 15}));
  // Compilers share the timer's physical core where nothing else is left.
  const auto two = PlanCores({{.cores = {{0, 2}, {1, 3}}}}, 0);
  ASSERT_EQ(two->slots.size(), 1u);
  EXPECT_EQ(two->build, std::vector<int>{2});
  EXPECT_TRUE(two->build_apart);
}

TEST(PlanCoresTest, MoreSlotsThanPhysicalCoresTakeHyperThreadsForCores) {
  // This is what a cloud calls two cores.
  const auto one = PlanCores({{.cores = {{0, 1}}}}, 0);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->slots_apart_max, 0);
  ASSERT_EQ(one->slots.size(), 1u);
  EXPECT_EQ(one->slots[0].timer, 0);
  EXPECT_EQ(one->slots[0].kernel, std::vector<int>{1});
  const std::vector<NumaNode> two = {{.cores = {{0, 2}, {1, 3}}}};
  const auto full = PlanCores(two, 2);
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->slots_apart_max, 1);
  for (const SlotCores& slot : full->slots)
    EXPECT_EQ(slot.kernel, std::vector<int>{slot.timer + 2}) << "beside no other slot";
  EXPECT_FALSE(full->build_apart);
  EXPECT_EQ(PlanCores(two, 3).status().message(),
            "3 slots need 6 cores (a timer and a kernel core each, on one NUMA node), but there "
            "are 4 on 1 nodes; ask for at most 2");
  // Three slots of two nodes: only the node that has to takes hyper-threads for cores.
  const auto three =
      PlanCores({{.id = 0, .cores = {{0, 4}, {1, 5}}}, {.id = 1, .cores = {{2, 6}, {3, 7}}}}, 3);
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_EQ(three->idle, std::vector<int>{7});
}

TEST(PlanCoresTest, ASlotGoesWhereMostCoresAreLeft) {
  const auto plan = PlanCores(
      {{.id = 0, .cores = {{0}, {1}, {2}, {3}}}, {.id = 1, .cores = {{4}, {5}, {6}, {7}, {8}}}}, 1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->slots[0].node, 1);
  EXPECT_EQ(plan->slots[0].kernel.size(), 2u);
}

TEST(GroupByNodeTest, SiblingsAreThoseThatThisProcessMayUse) {
  setenv("HWLOC_SYNTHETIC", "numa:2 core:2 pu:2", 1);
  const auto nodes = GroupByNumaNode({0, 2, 3, 5, 99});
  unsetenv("HWLOC_SYNTHETIC");
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[0].cores, (std::vector<Siblings>{{0}, {2, 3}, {99}}));
  EXPECT_EQ((*nodes)[1].cores, (std::vector<Siblings>{{5}}));
}

TEST(SlotPoolTest, LendsAsManyKernelCoresAsAskedFor) {
  SlotPool pool(*PlanCores(Cores(8), 1));
  EXPECT_EQ(pool.Acquire(1, nullptr)->cores().kernel.size(), 1u);
  EXPECT_EQ(pool.Acquire(3, nullptr)->cores().kernel.size(), 3u);
  const auto seven = pool.Acquire(7, nullptr);  // The compilers' cores are lent too.
  ASSERT_TRUE(seven.ok());
  EXPECT_EQ(seven->cores().kernel.size(), 7u);
  EXPECT_TRUE(seven->cores().apart);
  EXPECT_EQ(
      std::count(seven->cores().kernel.begin(), seven->cores().kernel.end(), seven->cores().timer),
      0);
}

// Returns whether this process's thread waits for something.
bool Asleep(pid_t thread) {
  const absl::StatusOr<std::string> stat =
      ReadFile(absl::StrCat("/proc/self/task/", thread, "/stat"));
  return stat.ok() && absl::StrContains(*stat, ") S ");
}

TEST(SlotPoolTest, TheWholeHostIsLentWhenItIsFreeAndNobodyBuildsThen) {
  SlotPool pool(*PlanCores(Cores(8), 0));
  ASSERT_TRUE(pool.plan().build_apart);
  auto small = std::make_unique<SlotPool::Lease>(*pool.Acquire(1, nullptr));
  small->BeginTiming();
  std::atomic<bool> has_host{false};
  std::atomic<bool> built{false};
  std::atomic<pid_t> large_id{0};
  std::thread large([&] {
    large_id = gettid();
    auto lease = pool.Acquire(8, nullptr);
    ASSERT_TRUE(lease.ok());
    EXPECT_FALSE(lease->cores().apart) << "no core is left for the timer";
    EXPECT_EQ(lease->cores().kernel.size(), 8u);
    lease->BeginTiming();
    has_host = true;
    std::atomic<pid_t> builder_id{0};
    std::thread builder([&] {
      builder_id = gettid();
      const SlotPool::BuildLease lease(&pool);
      built = true;
    });
    EXPECT_TRUE(Eventually([&] { return built || Asleep(builder_id); }));
    EXPECT_FALSE(built);
    lease->EndTiming();
    builder.join();
  });
  { const SlotPool::BuildLease beside_a_slot(&pool); }
  EXPECT_TRUE(Eventually([&] { return has_host || Asleep(large_id); }));
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
  SlotPool pool(*PlanCores(Cores(4), 2));
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
        const SlotPool::BuildLease lease(&pool);
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
