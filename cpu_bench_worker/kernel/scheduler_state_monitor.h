// What the kernel says a process is doing: asleep or not, how often it has run, how many threads it
// has. The child's own memory can lie; /proc cannot.
//
//   ASSIGN_OR_RETURN(SchedulerStateMonitor monitor, SchedulerStateMonitor::Open(pid));
//   ProcessSnapshot before = monitor.Snapshot();     // before.asleep?
//   … write the inputs …
//   if (!monitor.Snapshot().SameRuns(before)) { /* it ran meanwhile */ }
//
// A Snapshot takes about 10 µs with one thread, a FullSnapshot twice that. One thread at a time.
#ifndef WHETSTONE_CPU_BENCH_WORKER_KERNEL_SCHEDULER_STATE_MONITOR_H_
#define WHETSTONE_CPU_BENCH_WORKER_KERNEL_SCHEDULER_STATE_MONITOR_H_

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace whetstone {

struct ThreadSnapshot {
  uint64_t tid = 0;
  uint64_t runs = 0;  // times it was put on a core
  // Times it gave up a core to sleep, not because it was preempted. Full snapshots only.
  uint64_t slept = 0;
  uint64_t ran_ns = 0;  // time on a core; exact while asleep
};

struct ProcessSnapshot {
  bool alive = false;
  // Every thread is in an interruptible sleep, or so close to it that it runs no code of its own
  // any more. The counts are read before: a run that began meanwhile is not in them, the next
  // snapshot tells. The other way round it would be hidden.
  bool asleep = false;
  std::vector<ThreadSnapshot> threads;
  // Time on a core of all its threads, those that have ended included; exact while asleep. Full
  // snapshots only.
  uint64_t ran_ns = 0;
  uint64_t waited_ns = 0;  // time spent runnable without a core, sum over threads

  // The thread of that number; zeros if there is none.
  ThreadSnapshot Of(uint64_t tid) const;
  // No thread ran, started or ended between the two snapshots. Thread by thread: in a sum, one that
  // ended could make up for one that ran.
  bool SameRuns(const ProcessSnapshot& other) const;
  // Every thread that ran since `before` has gone to sleep since (both are full). A thread may
  // be preempted on its way into sleep, and then has to run once more.
  bool SettledSince(const ProcessSnapshot& before) const;
  // The longest that any of the threads alive now has run since `before`.
  uint64_t LongestRunSince(const ProcessSnapshot& before) const;
  // How often the threads alive now gave up a core to sleep since `before` (both are full).
  uint64_t SleepsSince(const ProcessSnapshot& before) const;
};

class SchedulerStateMonitor {
 public:
  // NOT_FOUND: no such process, or this kernel has no schedstat (CONFIG_SCHED_INFO).
  static absl::StatusOr<SchedulerStateMonitor> Open(pid_t pid);

  ProcessSnapshot Snapshot() const { return Snapshot(false); }
  // Counts sleeps, too; takes twice as long.
  ProcessSnapshot FullSnapshot() const { return Snapshot(true); }

 private:
  SchedulerStateMonitor() = default;
  ProcessSnapshot Snapshot(bool full) const;
  ProcessSnapshot SnapshotThreads(bool full) const;
  uint64_t RanNs() const;
  pid_t pid_ = 0;
  clockid_t clock_ = 0;  // the process's own: of all threads that there were
  UniqueFd stat_fd_;
  UniqueFd schedstat_fd_;
  UniqueFd status_fd_;
};

// This thread's own count of being put on a core: it rises while the thread never sleeps only when
// something preempted it.
class OwnRuns {
 public:
  OwnRuns();
  uint64_t Count() const;

 private:
  UniqueFd fd_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_KERNEL_SCHEDULER_STATE_MONITOR_H_
