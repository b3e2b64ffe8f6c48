// How fast a kernel core runs: whether its frequency changed in the course of a sample, and whether
// something else ran on the same physical core meanwhile (its other hyper-thread, which may belong
// to a stranger's virtual machine).
//
// Virtual machines offer no counters for either, so both are measured, by two short loops:
//   latency-bound     each operation needs the one before it. Takes the same number of cycles
//                     whenever it runs, whatever lies in the caches and whoever shares the core:
//                     its time is the clock's.
//   throughput-bound  eight operations at a time that need nothing of each other, as many as the
//                     core can issue. Whoever shares the core takes some of that, so that it takes
//                     longer: its time divided by the latency-bound loop's, the issue-width ratio,
//                     tells how much, at any clock.
// They run on the kernel core between samples, so that every sample lies between two runs.
//
//   ASSIGN_OR_RETURN(auto probe, CoreProbe::Start(core));
//   CoreProbeTimes before = probe->Run();
//   bool shared_before = smt_detector.Shared(before);
//   …                                                    // the sample
//   CoreProbeTimes after = probe->Run();
//   bool shared_after = smt_detector.Shared(after);      // each run once: it is learned from
//   if (frequency_detector.Changed(before, after)) …     // take it again
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_CORE_PROBE_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_CORE_PROBE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

// Nanoseconds of the two loops; 0: not known.
struct CoreProbeTimes {
  double latency_bound_ns = 0;
  double throughput_bound_ns = 0;
};

// One thread at a time.
class CoreProbe {
 public:
  // Starts a thread that is pinned to `core`. It is an error if that is refused.
  static absl::StatusOr<std::unique_ptr<CoreProbe>> Start(int core);
  virtual ~CoreProbe() = default;

  // Lets the loops run once, some 25 µs, while the caller waits and does nothing: its core may be
  // the other hyper-thread. Returns unknown times if they were not through after some milliseconds.
  virtual CoreProbeTimes Run() = 0;
};

// Tells a change of the core's frequency from the latency-bound loop's own scatter: the median
// difference of neighbouring runs, as a share of their time. A frequency that changes now and then
// hardly moves that median.
class FrequencyChangeDetector {
 public:
  // Returns whether the core's speed differs between two neighbouring runs by more than the loop's
  // own scatter explains, and by enough to matter. Both are among the scatter from then on. Returns
  // false as long as too few have been seen, and where either is unknown.
  bool Changed(const CoreProbeTimes& before, const CoreProbeTimes& after);
  // What a difference must exceed now, as a share of the time; 0 while too few have been seen.
  double Threshold() const;

 private:
  std::vector<double> differences_;
};

// A smaller change is left to the many samples, most of which it does not touch.
inline constexpr double kFrequencyChangeMin = 0.01;

// Tells a core that is shared from one that is ours alone, by its issue-width ratio. What that is
// of a core that is alone depends on the processor and is learned: the least that is seen again and
// again. So a core that is always shared passes for alone. Keep one for each kernel core, for as
// long as possible. One thread at a time.
class SmtContentionDetector {
 public:
  // Returns whether the core was shared when `times` were measured, and learns from them. Returns
  // false as long as too little has been seen, and true for unknown times: whoever keeps a probe
  // waiting shares the core, too.
  bool Shared(const CoreProbeTimes& times);
  // The same, and learns nothing: of a look while nothing is measured.
  bool SeenShared(const CoreProbeTimes& times) const;
  // The largest issue-width ratio of a core that is ours alone; 0: not known yet.
  double Threshold() const;
  // The share of the last few thousand runs that saw it alone.
  double AloneShare() const { return alone_share_; }

 private:
  void Halve();

  // How often each ratio was seen, in steps of 1 %.
  static constexpr int kSteps = 800;
  std::array<uint32_t, kSteps> seen_{};
  uint64_t all_ = 0;
  double alone_share_ = 1;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_CORE_PROBE_H_
