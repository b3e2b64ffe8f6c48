#include "cpu_bench_worker/host/slot_pool.h"

#include <sched.h>

#include <algorithm>
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

// NodeCores hands out a node's physical cores, one after another, so that what belongs together is
// near.
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

  std::optional<int> Kernel() {
    if (next_ == cores_.size()) return std::nullopt;
    const Siblings& siblings = cores_[next_++];
    idle_.insert(idle_.end(), siblings.begin() + 1, siblings.end());
    return siblings.front();
  }

  // These sit beside kernels.
  const std::vector<int>& idle() const { return idle_; }

  // These neither sit beside a kernel nor were handed out.
  std::vector<int> Rest() const {
    std::vector<int> rest = spare_;
    for (size_t i = next_; i < cores_.size(); ++i)
      rest.insert(rest.end(), cores_[i].begin(), cores_[i].end());
    return rest;
  }

 private:
  const std::vector<Siblings>& cores_;
  size_t next_ = 0;
  std::vector<int> spare_;  // These are of the last timer's physical core.
  std::vector<int> idle_;
};

int SlotsMax(const std::vector<Siblings>& cores) {
  NodeCores left(cores);
  int slots = 0;
  while (left.Timer().has_value() && left.Kernel().has_value()) ++slots;
  return slots;
}

// Returns the slots of a node that nobody has asked for a number of: a large one keeps a quarter of
// its cores (at least two hyper-threads) for compilers, if that leaves a slot.
int OwnSlots(std::vector<Siblings> cores) {
  const int slots_max = SlotsMax(cores);
  size_t threads = 0, kept_threads = 0;
  for (const Siblings& siblings : cores) threads += siblings.size();
  if (threads < 6) return slots_max;
  for (size_t kept = 0, quarter = cores.size() / 4; kept < quarter || kept_threads < 2; ++kept) {
    kept_threads += cores.back().size();
    cores.pop_back();
  }
  return std::max(SlotsMax(cores), std::min(slots_max, 1));
}

// Adds `slots` slots of `kernels` cores each; what is left builds. Returns false, and adds nothing,
// if so many don't fit, or leave less than two cores to build and need not be so many.
bool TrySlots(const NumaNode& node, int slots, int kernels, CorePlan* plan) {
  NodeCores left(node.cores);
  std::vector<SlotCores> added;
  for (int s = 0; s < slots; ++s) {
    const std::optional<int> timer = left.Timer();
    if (!timer.has_value()) return false;
    SlotCores slot{
        .timer = *timer, .kernel = {}, .apart = true, .node = plan->nodes > 1 ? node.id : -1};
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
  plan->idle.insert(plan->idle.end(), left.idle().begin(), left.idle().end());
  plan->build.insert(plan->build.end(), rest.begin(), rest.end());
  return true;
}

// Adds `slots` slots of `node`, at most SlotsMax(), each with as many kernel cores as there are,
// for problems with threads.
void PlanNode(const NumaNode& node, int slots, CorePlan* plan) {
  int kernels = std::max(1, static_cast<int>(node.cores.size()) / std::max(1, slots));
  while (!TrySlots(node, slots, kernels, plan)) --kernels;
}

// Makes every hyper-thread a core of its own.
std::vector<Siblings> WithoutSiblings(const std::vector<Siblings>& cores) {
  std::vector<Siblings> apart;
  for (const Siblings& siblings : cores)
    for (const int core : siblings) apart.push_back({core});
  return apart;
}

std::vector<int> AllCores(const std::vector<NumaNode>& nodes) {
  std::vector<int> all;
  for (size_t thread = 0;; ++thread) {
    const size_t before = all.size();
    for (const NumaNode& node : nodes)
      for (const Siblings& siblings : node.cores)
        if (thread < siblings.size()) all.push_back(siblings[thread]);
    if (all.size() == before) return all;
  }
}

// Adds a slot to the node that has the most room beyond its share; returns false if none has any.
bool AddShare(const std::vector<NumaNode>& nodes, bool hyper_threads_as_cores,
              std::vector<int>* share) {
  std::optional<size_t> best;
  std::pair<int, int> most = {0, 0};  // slots, physical cores
  for (size_t n = 0; n < nodes.size(); ++n) {
    const std::vector<Siblings>& cores = nodes[n].cores;
    const std::pair<int, int> left = {
        SlotsMax(hyper_threads_as_cores ? WithoutSiblings(cores) : cores) - (*share)[n],
        static_cast<int>(cores.size()) - 2 * (*share)[n]};
    if (left.first <= 0 || (best.has_value() && left <= most)) continue;
    best = n;
    most = left;
  }
  if (best.has_value()) ++(*share)[*best];
  return best.has_value();
}

absl::Status TooManySlots(const std::vector<NumaNode>& nodes, int slots, int slots_max) {
  return absl::ResourceExhaustedError(absl::StrCat(
      slots, " slots need ", 2 * slots, " cores (a timer and a kernel core each, on one NUMA ",
      "node), but there are ", AllCores(nodes).size(), " on ", nodes.size(),
      " nodes; ask for at most ", slots_max));
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

absl::StatusOr<CorePlan> PlanCores(const std::vector<NumaNode>& nodes, int slots) {
  CorePlan plan;
  plan.nodes = static_cast<int>(nodes.size());
  plan.all = AllCores(nodes);
  if (slots < 0 || plan.all.empty()) return TooManySlots(nodes, slots, 0);
  if (plan.all.size() == 1) {
    if (slots > 1) return TooManySlots(nodes, slots, 1);
    const int core = plan.all[0];
    plan.slots.push_back({.timer = core, .kernel = {core}, .apart = false});
    plan.slots_apart_max = 1;
    plan.build = plan.all;
    return plan;
  }
  if (plan.all.size() == nodes.size()) {  // No node has two cores, so slots have to straddle nodes.
    NumaNode straddling{.id = -1, .cores = {}};
    for (const int core : plan.all) straddling.cores.push_back({core});
    return PlanCores({straddling}, slots);
  }
  std::vector<int> share;
  for (const NumaNode& node : nodes) {
    share.push_back(slots == 0 ? OwnSlots(node.cores) : 0);
    plan.slots_apart_max += SlotsMax(node.cores);
  }
  const int wanted = slots == 0 && plan.slots_apart_max == 0 ? 1 : slots;
  for (int s = 0; s < wanted; ++s)
    if (!AddShare(nodes, /*hyper_threads_as_cores=*/false, &share) &&
        !AddShare(nodes, /*hyper_threads_as_cores=*/true, &share))
      return TooManySlots(nodes, slots, s);
  for (size_t n = 0; n < nodes.size(); ++n) {
    NumaNode node = nodes[n];
    if (share[n] > SlotsMax(node.cores)) node.cores = WithoutSiblings(node.cores);
    PlanNode(node, share[n], &plan);
  }
  plan.build_apart =
      !plan.build.empty() && static_cast<int>(plan.slots.size()) <= plan.slots_apart_max;
  if (!plan.build_apart) plan.build = plan.all;
  return plan;
}

SlotPool::SlotPool(CorePlan plan) : plan_(std::move(plan)), taken_(plan_.slots.size(), false) {}

bool SlotPool::AnyTaken() const {
  return std::find(taken_.begin(), taken_.end(), true) != taken_.end();
}

absl::Status SlotPool::Fits(int kernel_cores) const {
  const auto wanted = static_cast<size_t>(std::max(1, kernel_cores));
  if (wanted <= plan_.all.size()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the problem asks for compile.threads: ", wanted, ", but this worker has ", plan_.all.size(),
      " cores; lower it, or measure on a host of at least ", wanted + 1, " (one for the timer)"));
}

absl::StatusOr<SlotPool::Lease> SlotPool::Acquire(int kernel_cores,
                                                  const std::atomic<bool>* cancelled) {
  RETURN_IF_ERROR(Fits(kernel_cores));
  const auto wanted = static_cast<size_t>(std::max(1, kernel_cores));
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

SlotPool::BuildLease::BuildLease(SlotPool* pool) : pool_(pool) {
  std::unique_lock<std::mutex> lock(pool_->mutex_);
  // Timing goes first: it ends one candidate, while building only starts another.
  const int builds_max = std::max(1, static_cast<int>(pool_->plan_.build.size()));
  pool_->changed_.wait(lock, [&] {
    return pool_->timing_ == 0 && pool_->timing_waiting_ == 0 && pool_->building_ < builds_max;
  });
  ++pool_->building_;
}

SlotPool::BuildLease::~BuildLease() {
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
