// Hands out the host's cores: slots for measuring, and building or timing, one at a time, where
// both would share cores.
#ifndef WHETSTONE_CPU_BENCH_WORKER_HOST_SLOT_POOL_H_
#define WHETSTONE_CPU_BENCH_WORKER_HOST_SLOT_POOL_H_

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "cpu_bench_worker/host/numa_nodes.h"
#include "cpu_bench_worker/host/slot_cores.h"

namespace whetstone {

// How a host's cores are divided. Where they are hyper-threads, a physical core on which kernels
// run has one of them in use, and timers and compilers share others.
struct CorePlan {
  std::vector<SlotCores> slots;  // at least one; each on one NUMA node
  std::vector<int> idle;         // siblings of kernel cores
  std::vector<int> build;        // for compilers and the screener
  bool build_apart = false;      // `build` shares no physical core with a kernel
  // How many slots have physical cores; where there are more, kernels share theirs with timers.
  int slots_apart_max = 0;
  // Every core, for problems that no slot is large enough for: first one of each physical core,
  // node by node, then their siblings.
  std::vector<int> all;
  int nodes = 1;
};

// `slots` 0: as many as there are physical cores for, at least one, less a quarter of a large
// host's for compilers. Where more are asked for, hyper-threads are taken for cores.
// RESOURCE_EXHAUSTED: more slots asked for than there are pairs of a timer and a kernel core on one
// node each (one core alone allows one).
absl::StatusOr<CorePlan> PlanCores(const std::vector<NumaNode>& nodes, int slots);

// The cores this process may run on.
std::vector<int> AllowedCores();

// Thread-safe. Leases return themselves on destruction.
class SlotPool {
 public:
  explicit SlotPool(CorePlan plan);

  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept { *this = std::move(other); }
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();
    // This is an index into CorePlan::slots, or beyond them for a lease of the whole host.
    size_t index() const { return index_; }
    // Has as many kernel cores as asked for.
    const SlotCores& cores() const { return cores_; }
    // Switches between checking (others may build meanwhile) and timing (nobody builds). Blocks.
    void BeginTiming();
    void EndTiming();

   private:
    friend class SlotPool;
    SlotPool* pool_ = nullptr;
    size_t index_ = kWholeHost;
    SlotCores cores_;
    bool timing_ = false;
  };

  // FAILED_PRECONDITION: the host has fewer cores than that.
  absl::Status Fits(int kernel_cores) const;

  // Blocks until a slot of at least `kernel_cores` is free, or `*cancelled` (may be null): then
  // CANCELLED. Where no slot is that large, the whole host is lent, once all slots are free: with a
  // timer core of its own if there is one more core than asked for, else with the timer on one of
  // the kernel's cores (SlotCores::apart false). FAILED_PRECONDITION: as Fits says.
  absl::StatusOr<Lease> Acquire(int kernel_cores, const std::atomic<bool>* cancelled);

  // Another slot at least as large as `held`'s, if one is free right now; never blocks.
  std::optional<Lease> TryAcquireOther(const Lease& held);

  // A BuildLease is held while compiling or screening. There are as many at once as there are cores
  // to build on.
  class BuildLease {
   public:
    explicit BuildLease(SlotPool* pool);
    ~BuildLease();
    BuildLease(const BuildLease&) = delete;
    BuildLease& operator=(const BuildLease&) = delete;

   private:
    SlotPool* pool_;
  };

  const CorePlan& plan() const { return plan_; }
  // Wakes those who wait in Acquire, so that they see their cancellation.
  void Notify();

 private:
  static constexpr size_t kWholeHost = static_cast<size_t>(-1);
  bool AnyTaken() const;

  const CorePlan plan_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> taken_;
  int whole_host_waiting_ = 0;  // they go first: small problems would never let the host be free
  int timing_ = 0;
  int timing_waiting_ = 0;
  int building_ = 0;
};

// Pins the calling thread to `core` until destruction.
class PinnedThread {
 public:
  explicit PinnedThread(int core);
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_HOST_SLOT_POOL_H_
