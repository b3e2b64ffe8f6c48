// What the kernel says a process is doing: asleep or not, how often it has run, how many threads it
// has. The child's own memory can lie; /proc cannot.
//
//   ASSIGN_OR_RETURN(SleepWatch watch, SleepWatch::Open(pid));
//   ProcessView before = watch.Look();     // before.asleep?
//   … write the inputs …
//   if (!watch.Look().SameRuns(before)) { /* it ran meanwhile */ }
//
// Costs about 10 µs a look with one thread, LookClosely twice that. One thread at a time.
#ifndef WHETSTONE_CPU_BENCH_WORKER_KERNEL_SLEEP_WATCH_H_
#define WHETSTONE_CPU_BENCH_WORKER_KERNEL_SLEEP_WATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

struct ThreadView {
  uint64_t tid = 0;
  uint64_t runs = 0;  // times it was put on a core
  // Times it gave up a core to sleep, not because it was preempted. Of LookClosely only.
  uint64_t slept = 0;
};

struct ProcessView {
  bool alive = false;
  // Every thread is in an interruptible sleep, or so close to it that it runs no code of its own
  // any more. The counts are read before: a run that began meanwhile is not in them, the next look
  // tells. The other way round it would be hidden.
  bool asleep = false;
  std::vector<ThreadView> threads;
  uint64_t ran_ns = 0;     // time on a core, sum over threads; exact while asleep
  uint64_t waited_ns = 0;  // time spent runnable without a core, sum over threads

  // No thread ran, started or ended between the two looks. Thread by thread: in a sum, one that
  // ended could make up for one that ran.
  bool SameRuns(const ProcessView& other) const;
  // Every thread that ran since `before` has gone to sleep since (both of LookClosely). A thread
  // may be preempted on its way into sleep, and then has to run once more.
  bool SettledSince(const ProcessView& before) const;
};

class SleepWatch {
 public:
  // NOT_FOUND: no such process, or this kernel has no schedstat (CONFIG_SCHED_INFO).
  static absl::StatusOr<SleepWatch> Open(pid_t pid);
  SleepWatch(SleepWatch&& other) noexcept { *this = std::move(other); }
  SleepWatch& operator=(SleepWatch&& other) noexcept;
  ~SleepWatch();

  ProcessView Look() const { return Look(false); }
  // Counts sleeps, too.
  ProcessView LookClosely() const { return Look(true); }

 private:
  SleepWatch() = default;
  ProcessView Look(bool closely) const;
  ProcessView LookAtThreads(bool closely) const;
  pid_t pid_ = 0;
  int stat_fd_ = -1;
  int schedstat_fd_ = -1;
  int status_fd_ = -1;
};

// This thread's own count of being put on a core: it rises while the thread never sleeps only when
// something preempted it.
class OwnRuns {
 public:
  OwnRuns();
  ~OwnRuns();
  OwnRuns(const OwnRuns&) = delete;
  OwnRuns& operator=(const OwnRuns&) = delete;
  uint64_t Count() const;

 private:
  int fd_ = -1;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_KERNEL_SLEEP_WATCH_H_
