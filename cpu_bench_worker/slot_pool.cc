#include "cpu_bench_worker/slot_pool.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

void SetAffinity(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(static_cast<size_t>(core), &set)) cores.push_back(core);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

absl::StatusOr<CorePlan> PlanCores(const std::vector<int>& cores, int slots) {
  const int count = static_cast<int>(cores.size());
  const int slots_max = std::max(1, count / 2);
  if (count == 0 || slots < 0 || slots > slots_max)
    return absl::ResourceExhaustedError(absl::StrCat(
        slots, " slots need ", 2 * slots, " cores (a timer and a kernel core each), but there are ",
        count, "; ask for at most ", slots_max));
  CorePlan plan;
  if (count == 1) {
    plan.slots.push_back({.timer = cores[0], .kernel = {cores[0]}, .apart = false});
    plan.build = cores;
    return plan;
  }
  // By itself a large host keeps a quarter of its cores (at least two) for compilers.
  if (slots == 0) slots = count >= 6 ? (count - std::max(2, count / 4)) / 2 : slots_max;
  // Cores beyond two a slot and two to build go to the kernels, for problems with threads.
  const int per_slot = std::max(2, (count - 2) / slots);
  int next = 0;
  for (int s = 0; s < slots; ++s) {
    SlotCores slot{.timer = cores[static_cast<size_t>(next++)], .kernel = {}, .apart = true};
    const int last_start = count - 2 * (slots - s - 1);
    for (int k = 1; k < per_slot && next < last_start; ++k)
      slot.kernel.push_back(cores[static_cast<size_t>(next++)]);
    plan.slots.push_back(std::move(slot));
  }
  plan.build.assign(cores.begin() + next, cores.end());
  plan.build_apart = !plan.build.empty();
  if (!plan.build_apart) plan.build = cores;
  return plan;
}

SlotPool::SlotPool(CorePlan plan) : plan_(std::move(plan)), taken_(plan_.slots.size(), false) {}

absl::StatusOr<SlotPool::Lease> SlotPool::Acquire(int kernel_cores,
                                                  const std::atomic<bool>* cancelled) {
  const auto fits = [&](const SlotCores& slot) {
    return static_cast<int>(slot.kernel.size()) >= kernel_cores;
  };
  if (std::none_of(plan_.slots.begin(), plan_.slots.end(), fits))
    return absl::ResourceExhaustedError(absl::StrCat(
        "the problem asks for ", kernel_cores, " kernel cores; this worker's slots are smaller"));
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    if (cancelled != nullptr && *cancelled) return absl::CancelledError("cancelled while waiting");
    for (size_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i] || !fits(plan_.slots[i])) continue;
      taken_[i] = true;
      Lease lease;
      lease.pool_ = this;
      lease.index_ = i;
      return lease;
    }
    changed_.wait(lock);
  }
}

SlotPool::Lease& SlotPool::Lease::operator=(Lease&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(index_, other.index_);
  std::swap(timing_, other.timing_);
  return *this;
}

SlotPool::Lease::~Lease() {
  if (pool_ == nullptr) return;
  EndTiming();
  std::lock_guard<std::mutex> lock(pool_->mutex_);
  pool_->taken_[index_] = false;
  pool_->changed_.notify_all();
}

void SlotPool::Lease::BeginTiming() {
  if (timing_ || pool_->plan_.build_apart) return;
  std::unique_lock<std::mutex> lock(pool_->mutex_);
  ++pool_->timing_waiting_;
  pool_->changed_.wait(lock, [&] { return pool_->building_ == 0; });
  --pool_->timing_waiting_;
  ++pool_->timing_;
  timing_ = true;
}

void SlotPool::Lease::EndTiming() {
  if (!timing_) return;
  std::lock_guard<std::mutex> lock(pool_->mutex_);
  --pool_->timing_;
  timing_ = false;
  pool_->changed_.notify_all();
}

SlotPool::BuildTurn::BuildTurn(SlotPool* pool) : pool_(pool) {
  if (pool_->plan_.build_apart) return;
  std::unique_lock<std::mutex> lock(pool_->mutex_);
  // Timing goes first: it ends one candidate, while building only starts another.
  pool_->changed_.wait(lock, [&] { return pool_->timing_ == 0 && pool_->timing_waiting_ == 0; });
  ++pool_->building_;
}

SlotPool::BuildTurn::~BuildTurn() {
  if (pool_->plan_.build_apart) return;
  std::lock_guard<std::mutex> lock(pool_->mutex_);
  --pool_->building_;
  pool_->changed_.notify_all();
}

void SlotPool::Notify() {
  std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_all();
}

PinnedThread::PinnedThread(int core) : before_(AllowedCores()) { SetAffinity({core}); }

PinnedThread::~PinnedThread() { SetAffinity(before_); }

}  // namespace whetstone
