// Observes the kernel core between samples: a sample lies between two observations, and the later
// one tells what happened on the core meanwhile.
//
//   CoreObserver observer(cores, /*threaded=*/false, /*probe=*/nullptr, /*smt_detector=*/nullptr);
//   observer.Observe();
//   …                                               // the sample
//   if (observer.Observe().frequency_changed) …     // take it again
//
// One thread at a time, on the slot's timer core.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_CORE_OBSERVER_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_CORE_OBSERVER_H_

#include <memory>

#include "cpu_bench_worker/host/slot_cores.h"
#include "cpu_bench_worker/timing/core_probe.h"

namespace whetstone {

// What happened between two observations.
struct CoreInterval {
  bool frequency_changed = false;
  bool shared = false;  // something else ran on the same physical core
};

class CoreObserver {
 public:
  // `probe` and `smt_detector` are borrowed. Without a probe it starts one of its own where the
  // timer has a core apart and the problem one thread; elsewhere, and where that is refused,
  // nothing is known of the core and no interval is bad. Without a detector it knows nothing from
  // earlier.
  CoreObserver(const SlotCores& cores, bool threaded, CoreProbe* probe,
               SmtContentionDetector* smt_detector);

  // What happened since the last call. Takes some 25 µs.
  CoreInterval Observe();
  // Whether something else runs on the core now, seen between two observations.
  bool SharedNow();
  // Whether a neighbour who is there now will leave, by how it was of late.
  bool MayBeAlone() const;

 private:
  std::unique_ptr<CoreProbe> own_probe_;
  SmtContentionDetector own_smt_detector_;
  CoreProbe* probe_;  // null: nothing is known of the core
  SmtContentionDetector* smt_detector_;
  FrequencyChangeDetector frequency_detector_;
  CoreProbeTimes last_;           // of the last observation
  bool last_was_shared_ = false;  // what it said
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_CORE_OBSERVER_H_
