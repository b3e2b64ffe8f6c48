#include "cpu_bench_worker/slot_pool.h"

#include <sched.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

void SetAffinity(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Hands out a node's physical cores, one after another, so that what belongs together is near.
class NodeCores {
 public:
  explicit NodeCores(const std::vector<Siblings>& cores) : cores_(cores) {}

  // Timers may share a physical core.
  std::optional<int> Timer() {
    if (spare_.empty() && next_ < cores_.size()) spare_ = cores_[next_++];
    if (spare_.empty()) return std::nullopt;
    const int core = spare_.front();
    spare_.erase(spare_.begin());
    return core;
  }

  // Its siblings stay idle.
  std::optional<int> Kernel() {
    if (next_ == cores_.size()) return std::nullopt;
    return cores_[next_++].front();
  }

  // What neither sits beside a kernel nor was handed out.
  std::vector<int> Rest() const {
    std::vector<int> rest = spare_;
    for (size_t i = next_; i < cores_.size(); ++i)
      rest.insert(rest.end(), cores_[i].begin(), cores_[i].end());
    return rest;
  }

 private:
  const std::vector<Siblings>& cores_;
  size_t next_ = 0;
  std::vector<int> spare_;  // of the last timer's physical core
};

int SlotsMax(const std::vector<Siblings>& cores) {
  NodeCores left(cores);
  int slots = 0;
  while (left.Timer().has_value() && left.Kernel().has_value()) ++slots;
  return slots;
}

// Slots of a node that nobody has asked for a number of: a large one keeps a quarter of its cores
// (at least two hyper-threads) for compilers.
int OwnSlots(std::vector<Siblings> cores) {
  size_t threads = 0, kept_threads = 0;
  for (const Siblings& siblings : cores) threads += siblings.size();
  if (threads < 6) return SlotsMax(cores);
  for (size_t kept = 0, quarter = cores.size() / 4; kept < quarter || kept_threads < 2; ++kept) {
    kept_threads += cores.back().size();
    cores.pop_back();
  }
  return SlotsMax(cores);
}

// Adds `slots` slots of `kernels` cores each; what is left builds. False, and nothing is added, if
// so many don't fit, or leave less than two cores to build and need not be so many.
bool TrySlots(const CoreGroup& node, int slots, int kernels, CorePlan* plan) {
  NodeCores left(node.cores);
  std::vector<SlotCores> added;
  for (int s = 0; s < slots; ++s) {
    const std::optional<int> timer = left.Timer();
    if (!timer.has_value()) return false;
    SlotCores slot{
        .timer = *timer, .kernel = {}, .apart = true, .node = plan->nodes > 1 ? node.node : -1};
    for (int k = 0; k < kernels; ++k) {
      const std::optional<int> kernel = left.Kernel();
      if (!kernel.has_value()) return false;
      slot.kernel.push_back(*kernel);
    }
    added.push_back(std::move(slot));
  }
  const std::vector<int> rest = left.Rest();
  if (kernels > 1 && rest.size() < 2) return false;
  plan->slots.insert(plan->slots.end(), added.begin(), added.end());
  plan->build.insert(plan->build.end(), rest.begin(), rest.end());
  return true;
}

// Adds `slots` slots of `node`, at most SlotsMax(), each with as many kernel cores as there are,
// for problems with threads.
void PlanNode(const CoreGroup& node, int slots, CorePlan* plan) {
  int kernels = std::max(1, static_cast<int>(node.cores.size()) / std::max(1, slots));
  while (!TrySlots(node, slots, kernels, plan)) --kernels;
}

// Every hyper-thread as a core of its own.
std::vector<CoreGroup> WithoutSiblings(const std::vector<CoreGroup>& nodes) {
  std::vector<CoreGroup> apart;
  for (const CoreGroup& node : nodes) {
    CoreGroup& group = apart.emplace_back(CoreGroup{.node = node.node, .cores = {}});
    for (const Siblings& siblings : node.cores)
      for (const int core : siblings) group.cores.push_back({core});
  }
  return apart;
}

std::vector<int> AllCores(const std::vector<CoreGroup>& nodes) {
  std::vector<int> all;
  for (size_t thread = 0;; ++thread) {
    const size_t before = all.size();
    for (const CoreGroup& node : nodes)
      for (const Siblings& siblings : node.cores)
        if (thread < siblings.size()) all.push_back(siblings[thread]);
    if (all.size() == before) return all;
  }
}

bool AnySiblings(const std::vector<CoreGroup>& nodes) {
  for (const CoreGroup& node : nodes)
    for (const Siblings& siblings : node.cores)
      if (siblings.size() > 1) return true;
  return false;
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
  plan.all = AllCores(nodes);
  if (plan.all.size() == 1 && (slots == 0 || slots == 1)) {
    const int core = plan.all[0];
    plan.slots.push_back({.timer = core, .kernel = {core}, .apart = false});
    plan.build = plan.all;
    return plan;
  }
  std::vector<int> room;  // slots that each node has cores for
  for (const CoreGroup& node : nodes) room.push_back(SlotsMax(node.cores));
  const int slots_max = std::accumulate(room.begin(), room.end(), 0);
  if (slots_max < std::max(1, slots) && AnySiblings(nodes)) {
    ASSIGN_OR_RETURN(plan, PlanCores(WithoutSiblings(nodes), slots));
    plan.hyper_threads_as_cores = true;
    return plan;
  }
  if (slots_max == 0 && nodes.size() > 1) {  // no node has two: slots have to straddle them
    CoreGroup straddling{.node = -1, .cores = {}};
    for (const int core : plan.all) straddling.cores.push_back({core});
    return PlanCores({straddling}, slots);
  }
  if (slots < 0 || slots > slots_max || slots_max == 0)
    return absl::ResourceExhaustedError(absl::StrCat(
        slots, " slots need ", 2 * slots, " cores (a timer and a kernel core each, on one memory ",
        "node), but there are ", plan.all.size(), " on ", nodes.size(), " nodes; ask for at most ",
        std::max<int>(slots_max, plan.all.size() == 1)));
  std::vector<int> share(nodes.size(), 0);
  for (int s = 0; s < slots; ++s) {  // each to the node with the most room left
    size_t best = 0;
    for (size_t n = 1; n < nodes.size(); ++n)
      if (room[n] - share[n] > room[best] - share[best]) best = n;
    ++share[best];
  }
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (slots == 0) share[n] = OwnSlots(nodes[n].cores);
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
