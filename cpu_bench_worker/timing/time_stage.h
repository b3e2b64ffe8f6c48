// How fast is the candidate? Interleaved pairs with the reference over fresh process pairs.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_TIME_STAGE_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_TIME_STAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "cpu_bench_worker/stats/plan.h"
#include "cpu_bench_worker/stats/statistics.h"
#include "cpu_bench_worker/stats/stopping.h"
#include "cpu_bench_worker/timing/check_stage.h"
#include "cpu_bench_worker/timing/core_speed.h"
#include "cpu_bench_worker/timing/trial.h"

namespace whetstone {

struct TimedSize {
  double speedup = 0;       // median paired ratio
  double reference_ns = 0;  // median of one call, harness floor subtracted
  double candidate_ns = 0;
  int calls_per_bell = 0;
  int pairs = 0;  // of rounds that count
  int rounds_redone = 0;
  int rounds_clock_changed = 0;  // of those redone: because the core's clock changed its speed
  int rounds_core_shared = 0;    // something else ran on the same physical core
  int pairs_core_shared = 0;     // of those: count all the same, because too few others do
};

struct TimeReport {
  Score score;
  std::vector<TimedSize> sizes;  // as the sizes given
  // What the score was computed from: ratios[size][pair][round], reference ÷ candidate.
  std::vector<PairedRatios> ratios;
  std::string first_bad;  // not empty: a timed output was wrong, nothing else counts
  int rounds = 0;         // judged rounds, and how many of them were right
  int rounds_right = 0;
  bool stopped_early = false;
  int process_pairs = 0;
  double start_s = 0;  // of the stage's time: starting process pairs …
  double turns_s = 0;  // … and their turns, warm-up and floors included
};

struct TimeOptions {
  double budget_s = kTimeBudgetSeconds;  // bounds the whole stage
  Until until = Until::kClear;
  // Watches the kernel core. Null: one of its own, where the timer has a core apart and the problem
  // one thread; elsewhere nothing does.
  CoreWatch* watch = nullptr;
  // What is known of that core from earlier. Null: nothing.
  CoreWidth* width = nullptr;
};

// Times the candidate at `sizes`; `estimates` (one per size) come from CheckCandidate. Every output
// of every round is judged.
std::optional<Failure> TimeCandidate(Trial* trial, const std::vector<CallShape>& sizes,
                                     const std::vector<CallEstimate>& estimates,
                                     const TimeOptions& options, TimeReport* report);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_TIME_STAGE_H_
