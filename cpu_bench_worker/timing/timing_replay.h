// Measures again, as often as one likes, what was recorded once: how often the stopping rule and
// the interval are right about programs whose true speedup is known.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_TIMING_REPLAY_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_TIMING_REPLAY_H_

#include "cpu_bench_worker/stats/stopping.h"
#include "cpu_bench_worker/timing/recorded_timings.h"

namespace whetstone {

// Shares of the trials, 0…1.
struct ReplayRates {
  double called_faster = 0;  // the interval's lower bound is above 1 + A/A threshold
  // The interval, widened by the A/A threshold, holds the truth. (What process pairs that follow
  // each other have in common, a busy machine's moods, no interval over pairs can know; the
  // threshold does.)
  double covered = 0;
  double stopped_early = 0;
  double pairs_mean = 0;  // process pairs a trial took
  double error_95 = 0;    // |ln(measured ÷ true)|, 95th percentile
};

// Every trial is one measurement as time_stage.cc makes it, of recorded pairs from a random one on:
// neighbours in time then are neighbours now. `factor` makes a program of another speed of them;
// one far from the reference has as few samples in a pair as it would, until it is clear. All zeros
// for an empty recording. Pure.
ReplayRates ReplayTimings(const RecordedTimings& recorded, double factor, double aa_threshold,
                          int trials, StoppingCriterion criterion = StoppingCriterion::kClear);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_TIMING_REPLAY_H_
