// How fast a kernel core's clock runs, and whether it changed in the course of a round.
//
// Virtual machines offer no counters of the clock's frequency (APERF, MPERF), so it is measured: a
// chain of integer operations, each of which needs the one before it, takes the same number of
// cycles whenever it runs, whatever lies in the caches and whatever a neighbour on the same
// physical core does. The chain runs on the kernel core while the timer writes the inputs of the
// next round. That is after one round and before another, so every round lies between two chains.
//
//   ASSIGN_OR_RETURN(auto chain, ClockChain::Start(core));
//   chain->Begin();                       // returns once the one before is through
//   …                                     // fill the next round's inputs
//   const double before = chain->AwaitNs();
//   …                                     // the round
//   steady.Changed(before, after);        // true: play it again
#ifndef WHETSTONE_CPU_BENCH_WORKER_CORE_SPEED_H_
#define WHETSTONE_CPU_BENCH_WORKER_CORE_SPEED_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

// One thread at a time.
class ClockChain {
 public:
  // A thread that is pinned to `core`. An error if that is refused.
  static absl::StatusOr<std::unique_ptr<ClockChain>> Start(int core);
  virtual ~ClockChain() = default;

  // Lets the chain run once.
  virtual void Begin() = 0;
  // How long the one that Begin started took; waits until it is through, at most some milliseconds.
  // 0: it was not through by then, so nothing is known.
  virtual double AwaitNs() = 0;
};

// Tells a change of the clock from the chain's own scatter: the median difference of neighbouring
// chains, as a share of their time. A clock that changes now and then hardly moves that median.
class ClockSteps {
 public:
  // Whether the core's speed differs between two neighbouring chains by more than the chain's own
  // scatter explains, and by enough to matter. Both are part of the scatter from then on. False as
  // long as too few have been seen, and where either is unknown (0).
  bool Changed(double before_ns, double after_ns);
  // What a difference must exceed now, as a share of the time; 0 while too few have been seen.
  double Threshold() const;

 private:
  std::vector<double> differences_;
};

// A smaller change is left to the many pairs of rounds, most of which it does not touch.
inline constexpr double kSpeedChangeMin = 0.01;

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_CORE_SPEED_H_
