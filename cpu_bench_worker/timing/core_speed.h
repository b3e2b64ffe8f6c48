// How fast a kernel core runs: whether its clock changed in the course of a round, and whether
// something else ran on the same physical core meanwhile (its other hyper-thread, which may belong
// to a stranger's virtual machine).
//
// Virtual machines offer no counters for either, so both are measured, by two short loops:
//   chain  each operation needs the one before it. Takes the same number of cycles whenever it
//          runs, whatever lies in the caches and whoever shares the core: its time is the clock's.
//   wide   eight operations at a time that need nothing of each other, as many as the core can
//          issue. Whoever shares the core takes some of that, so that it takes longer: its time by
//          the chain's, the core's narrowness, tells how much, at any clock.
// They run on the kernel core between rounds, so that every round lies between two looks.
//
//   ASSIGN_OR_RETURN(auto watch, CoreWatch::Start(core));
//   CoreSpeed before = watch->Look();
//   bool shared_before = width.Shared(before);
//   …                                              // the round
//   CoreSpeed after = watch->Look();
//   bool shared_after = width.Shared(after);       // each look once: it is learned from
//   if (clock.Changed(before, after)) …            // play it again
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_CORE_SPEED_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_CORE_SPEED_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

// Nanoseconds of the two loops; 0: not known.
struct CoreSpeed {
  double chain_ns = 0;
  double wide_ns = 0;
};

// One thread at a time.
class CoreWatch {
 public:
  // A thread that is pinned to `core`. An error if that is refused.
  static absl::StatusOr<std::unique_ptr<CoreWatch>> Start(int core);
  virtual ~CoreWatch() = default;

  // Lets the loops run once, some 25 µs, while the caller waits and does nothing: its core may be
  // the other hyper-thread. Unknown if they were not through after some milliseconds.
  virtual CoreSpeed Look() = 0;
};

// Tells a change of the clock from the chain's own scatter: the median difference of neighbouring
// chains, as a share of their time. A clock that changes now and then hardly moves that median.
class ClockSteps {
 public:
  // Whether the core's speed differs between two neighbouring chains by more than the chain's own
  // scatter explains, and by enough to matter. Both are part of the scatter from then on. False as
  // long as too few have been seen, and where either is unknown.
  bool Changed(const CoreSpeed& before, const CoreSpeed& after);
  // What a difference must exceed now, as a share of the time; 0 while too few have been seen.
  double Threshold() const;

 private:
  std::vector<double> differences_;
};

// A smaller change is left to the many pairs of rounds, most of which it does not touch.
inline constexpr double kSpeedChangeMin = 0.01;

// Tells a core that is shared from one that is ours alone, by its narrowness. What that is of a
// core that is alone depends on the processor and is learned: the least that is seen again and
// again. So a core that is always shared passes for alone. Keep one for each kernel core, for as
// long as possible. One thread at a time.
class CoreWidth {
 public:
  // Whether the core was shared when `speed` was measured. Part of what is learned from then on.
  // False as long as too little has been seen. True of an unknown speed: whoever keeps a look
  // waiting shares the core, too.
  bool Shared(const CoreSpeed& speed);
  // The largest narrowness of a core that is ours alone; 0: not known yet.
  double Threshold() const;
  // The share of the last few thousand looks that saw it alone.
  double AloneShare() const { return alone_share_; }

 private:
  void Halve();

  // How often each narrowness was seen, in steps of 1 %.
  static constexpr int kSteps = 800;
  std::array<uint32_t, kSteps> seen_{};
  uint64_t all_ = 0;
  double alone_share_ = 1;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_CORE_SPEED_H_
