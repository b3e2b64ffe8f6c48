// Hands out the host's cores: slots for measuring, and turns between building and timing where both
// would share cores.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SLOT_POOL_H_
#define WHETSTONE_CPU_BENCH_WORKER_SLOT_POOL_H_

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "cpu_bench_worker/bench_context.h"

namespace whetstone {

// How `cores` are divided. `slots` 0: as many pairs of a timer and a kernel core as there are.
struct CorePlan {
  std::vector<SlotCores> slots;
  std::vector<int> build;    // for compilers and the screener
  bool build_apart = false;  // `build` shares no core with a slot
};

// RESOURCE_EXHAUSTED: more slots asked for than the cores allow (one core allows one).
absl::StatusOr<CorePlan> PlanCores(const std::vector<int>& cores, int slots);

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
    const SlotCores& cores() const { return pool_->plan_.slots[index_]; }
    // Switches between checking (others may build meanwhile) and timing (nobody builds). Blocks.
    void BeginTiming();
    void EndTiming();

   private:
    friend class SlotPool;
    SlotPool* pool_ = nullptr;
    size_t index_ = 0;
    bool timing_ = false;
  };

  // Blocks until a slot of at least `kernel_cores` is free, or `*cancelled` (may be null): then
  // CANCELLED. RESOURCE_EXHAUSTED: no slot is that large.
  absl::StatusOr<Lease> Acquire(int kernel_cores, const std::atomic<bool>* cancelled);

  // Held while compiling or screening.
  class BuildTurn {
   public:
    explicit BuildTurn(SlotPool* pool);
    ~BuildTurn();
    BuildTurn(const BuildTurn&) = delete;
    BuildTurn& operator=(const BuildTurn&) = delete;

   private:
    SlotPool* pool_;
  };

  const CorePlan& plan() const { return plan_; }
  // Wakes those who wait in Acquire, so that they see their cancellation.
  void Notify();

 private:
  const CorePlan plan_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> taken_;
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

#endif  // WHETSTONE_CPU_BENCH_WORKER_SLOT_POOL_H_
