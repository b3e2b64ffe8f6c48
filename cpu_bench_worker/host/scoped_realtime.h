// Real-time priority for the calling thread while it times: the stopwatch may not be preempted.
#ifndef WHETSTONE_CPU_BENCH_WORKER_HOST_SCOPED_REALTIME_H_
#define WHETSTONE_CPU_BENCH_WORKER_HOST_SCOPED_REALTIME_H_

#include <sched.h>

namespace whetstone {

// Round-robin real-time scheduling at its lowest priority until destruction. Children started
// meanwhile don't inherit it. Nice values would not do: with autogroup scheduling they only count
// within a session. Root only; without the right it changes nothing. The kernel leaves everyone
// else at least 5 % of the core.
class ScopedRealtime {
 public:
  ScopedRealtime() {
    const sched_param lowest{.sched_priority = 1};
    changed_ = sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0;
  }
  ~ScopedRealtime() {
    const sched_param none{};
    if (changed_) sched_setscheduler(0, SCHED_OTHER, &none);
  }
  ScopedRealtime(const ScopedRealtime&) = delete;
  ScopedRealtime& operator=(const ScopedRealtime&) = delete;

 private:
  bool changed_ = false;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_HOST_SCOPED_REALTIME_H_
