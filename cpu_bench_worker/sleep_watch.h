// What the kernel says a process is doing: asleep or not, how often it has run, how many threads it
// has. The child's own memory can lie; /proc cannot.
//
//   ASSIGN_OR_RETURN(SleepWatch watch, SleepWatch::Open(pid));
//   ProcessView before = watch.Look();     // before.asleep?
//   … write the inputs …
//   if (watch.Look().runs != before.runs) { /* it ran meanwhile */ }
//
// Costs about 10 µs a look with one thread. One thread at a time.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SLEEP_WATCH_H_
#define WHETSTONE_CPU_BENCH_WORKER_SLEEP_WATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace whetstone {

struct ProcessView {
  bool alive = false;
  bool asleep = false;  // every thread is in an interruptible sleep
  int threads = 0;
  uint64_t runs = 0;       // times any thread was put on a core (sum over threads)
  uint64_t waited_ns = 0;  // time threads spent runnable without a core (sum over threads)
};

class SleepWatch {
 public:
  // NOT_FOUND: no such process, or this kernel has no schedstat (CONFIG_SCHED_INFO).
  static absl::StatusOr<SleepWatch> Open(pid_t pid);
  SleepWatch(SleepWatch&& other) noexcept { *this = std::move(other); }
  SleepWatch& operator=(SleepWatch&& other) noexcept;
  ~SleepWatch();

  ProcessView Look() const;

 private:
  SleepWatch() = default;
  ProcessView LookAtThreads() const;
  pid_t pid_ = 0;
  int stat_fd_ = -1;
  int schedstat_fd_ = -1;
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

#endif  // WHETSTONE_CPU_BENCH_WORKER_SLEEP_WATCH_H_
