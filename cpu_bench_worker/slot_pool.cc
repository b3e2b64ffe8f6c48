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

// Slots of a node that nobody has asked for a number of: a large one keeps a quarter of its cores
// (at least two) for compilers.
int OwnSlots(int cores) { return cores >= 6 ? (cores - std::max(2, cores / 4)) / 2 : cores / 2; }

// Adds `slots` slots of `node`; what is left builds. Cores beyond two a slot and two to build go to
// the kernels, for problems with threads.
void PlanNode(const CoreGroup& node, int slots, CorePlan* plan) {
  const int count = static_cast<int>(node.cores.size());
  const int per_slot = slots == 0 ? 0 : std::max(2, (count - 2) / slots);
  int next = 0;
  for (int s = 0; s < slots; ++s) {
    SlotCores slot{.timer = node.cores[static_cast<size_t>(next++)],
                   .kernel = {},
                   .apart = true,
                   .node = plan->nodes > 1 ? node.node : -1};
    const int last_start = count - 2 * (slots - s - 1);
    for (int k = 1; k < per_slot && next < last_start; ++k)
      slot.kernel.push_back(node.cores[static_cast<size_t>(next++)]);
    plan->slots.push_back(std::move(slot));
  }
  plan->build.insert(plan->build.end(), node.cores.begin() + next, node.cores.end());
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

absl::StatusOr<CorePlan> PlanCores(const std::vector<CoreGroup>& nodes, int slots) {
  CorePlan plan;
  plan.nodes = static_cast<int>(nodes.size());
  int slots_max = 0;
  for (const CoreGroup& node : nodes) {
    plan.all.insert(plan.all.end(), node.cores.begin(), node.cores.end());
    slots_max += static_cast<int>(node.cores.size()) / 2;
  }
  if (slots_max == 0 && plan.all.size() > 1)  // no node has two: slots have to straddle them
    return PlanCores({{.node = -1, .cores = plan.all}}, slots);
  if (plan.all.size() == 1) slots_max = 1;
  if (slots < 0 || slots > slots_max || slots_max == 0)
    return absl::ResourceExhaustedError(absl::StrCat(
        slots, " slots need ", 2 * slots, " cores (a timer and a kernel core each, on one memory ",
        "node), but there are ", plan.all.size(), " on ", nodes.size(), " nodes; ask for at most ",
        slots_max));
  if (plan.all.size() == 1) {
    const int core = plan.all[0];
    plan.slots.push_back({.timer = core, .kernel = {core}, .apart = false});
    plan.build = plan.all;
    return plan;
  }
  std::vector<int> share(nodes.size(), 0);
  for (int s = 0; s < slots; ++s) {  // each to the node with the most cores left
    size_t best = 0;
    const auto left = [&](size_t n) {
      return static_cast<int>(nodes[n].cores.size()) - 2 * share[n];
    };
    for (size_t n = 1; n < nodes.size(); ++n)
      if (left(n) > left(best)) best = n;
    ++share[best];
  }
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (slots == 0) share[n] = OwnSlots(static_cast<int>(nodes[n].cores.size()));
    PlanNode(nodes[n], share[n], &plan);
  }
  plan.build_apart = !plan.build.empty();
  if (!plan.build_apart) plan.build = plan.all;
  return plan;
}

SlotPool::SlotPool(CorePlan plan) : plan_(std::move(plan)), taken_(plan_.slots.size(), false) {}

bool SlotPool::AnyTaken() const {
  return std::find(taken_.begin(), taken_.end(), true) != taken_.end();
}

absl::StatusOr<SlotPool::Lease> SlotPool::Acquire(int kernel_cores,
                                                  const std::atomic<bool>* cancelled) {
  const auto wanted = static_cast<size_t>(std::max(1, kernel_cores));
  if (wanted > plan_.all.size())
    return absl::FailedPreconditionError(
        absl::StrCat("the problem asks for compile.threads: ", wanted, ", but this worker has ",
                     plan_.all.size(), " cores; lower it, or measure on a host of at least ",
                     wanted + 1, " (one for the timer)"));
  Lease lease;
  const auto lend = [&](size_t index, SlotCores cores) {
    lease.pool_ = this;
    lease.index_ = index;
    lease.cores_ = std::move(cores);
  };
  const auto fits = [&](const SlotCores& slot) { return slot.kernel.size() >= wanted; };
  const bool whole_host = std::none_of(plan_.slots.begin(), plan_.slots.end(), fits);
  std::unique_lock<std::mutex> lock(mutex_);
  if (whole_host) ++whole_host_waiting_;
  for (;;) {
    if (cancelled != nullptr && *cancelled) {
      if (whole_host) --whole_host_waiting_;
      changed_.notify_all();
      return absl::CancelledError("cancelled while waiting");
    }
    if (whole_host && !AnyTaken()) {
      --whole_host_waiting_;
      taken_.assign(taken_.size(), true);
      const bool apart = wanted < plan_.all.size();
      const auto first = plan_.all.begin() + (apart ? 1 : 0);
      lend(kWholeHost, {.timer = plan_.all[0],
                        .kernel = {first, first + static_cast<std::ptrdiff_t>(wanted)},
                        .apart = apart});
      return lease;
    }
    for (size_t i = 0; !whole_host && whole_host_waiting_ == 0 && i < taken_.size(); ++i) {
      if (taken_[i] || !fits(plan_.slots[i])) continue;
      taken_[i] = true;
      SlotCores cores = plan_.slots[i];
      cores.kernel.resize(wanted);
      lend(i, std::move(cores));
      return lease;
    }
    changed_.wait(lock);
  }
}

std::optional<SlotPool::Lease> SlotPool::TryAcquireOther(const Lease& held) {
  const size_t wanted = held.cores().kernel.size();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; whole_host_waiting_ == 0 && i < taken_.size(); ++i) {
    if (taken_[i] || plan_.slots[i].kernel.size() < wanted) continue;
    taken_[i] = true;
    Lease lease;
    lease.pool_ = this;
    lease.index_ = i;
    lease.cores_ = plan_.slots[i];
    lease.cores_.kernel.resize(wanted);
    return lease;
  }
  return std::nullopt;
}

SlotPool::Lease& SlotPool::Lease::operator=(Lease&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(index_, other.index_);
  std::swap(cores_, other.cores_);
  std::swap(timing_, other.timing_);
  return *this;
}

SlotPool::Lease::~Lease() {
  if (pool_ == nullptr) return;
  EndTiming();
  std::lock_guard<std::mutex> lock(pool_->mutex_);
  if (index_ == kWholeHost) {
    pool_->taken_.assign(pool_->taken_.size(), false);
  } else {
    pool_->taken_[index_] = false;
  }
  pool_->changed_.notify_all();
}

void SlotPool::Lease::BeginTiming() {
  // A lease of the whole host has the compilers' cores too.
  if (timing_ || (pool_->plan_.build_apart && index_ != kWholeHost)) return;
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
  std::unique_lock<std::mutex> lock(pool_->mutex_);
  // Timing goes first: it ends one candidate, while building only starts another.
  pool_->changed_.wait(lock, [&] { return pool_->timing_ == 0 && pool_->timing_waiting_ == 0; });
  ++pool_->building_;
}

SlotPool::BuildTurn::~BuildTurn() {
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
