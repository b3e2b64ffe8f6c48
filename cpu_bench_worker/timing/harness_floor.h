// What the harness itself costs an invocation (waking the child, its response), and what is left of
// an invocation's time without that. Measured of every process pair anew.
//
//   HarnessFloor floor(/*threaded=*/false, /*cores=*/1);
//   if (auto failure = floor.Measure(&session, batch)) …
//   const BatchNs work = floor.WorkNs(sample);
//
// Not thread-safe.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_HARNESS_FLOOR_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_HARNESS_FLOOR_H_

#include <cstddef>
#include <optional>

#include "cpu_bench_worker/timing/session.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {

// Nanoseconds that the calls of one batch took.
struct BatchNs {
  double reference = 0;
  double candidate = 0;
};

class HarnessFloor {
 public:
  // `threaded`: the problem allows several threads, which share `cores` cores.
  HarnessFloor(bool threaded, size_t cores) : threaded_(threaded), cores_(cores) {}

  // Measures it by requests without calls to the session's process pair; `batch` is any of its
  // batches.
  std::optional<Failure> Measure(Session* session, const CallBatch& batch);
  // The floor by the clock; 0 before the first Measure.
  double ns() const { return ns_; }

  // What the clock says of an invocation, without the time that another program had the core unless
  // it napped: on a machine that is never quiet, disturbed samples are taken in the end, and this
  // is what keeps them usable.
  double ClockNs(const Invocation& invocation) const;
  // What an invocation took of its own: the processor's time of one thread that did not nap, else
  // the clock's.
  double OwnNs(const Invocation& invocation) const {
    return threaded_ || invocation.napped ? invocation.ns : invocation.cpu_ns;
  }
  // Whether something else had one of the cores: another program, or, by more lost time than waking
  // costs, the hypervisor.
  bool Disturbed(const PairedSample& sample) const;
  // The members' own time.
  BatchNs WorkNs(const PairedSample& sample) const;

 private:
  bool Disturbed(const Invocation& invocation) const;
  double WorkNs(const Invocation& invocation, double floor_ns) const;

  bool threaded_;
  size_t cores_;
  double ns_ = 0;
  double cpu_ns_ = 0;   // by the kernel's account
  double lost_ns_ = 0;  // Invocation::LostNs
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_HARNESS_FLOOR_H_
