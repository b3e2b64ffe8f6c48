// How fast is the candidate? Interleaved pairs with the reference over fresh process pairs.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIME_STAGE_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIME_STAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "cpu_bench_worker/check_stage.h"
#include "cpu_bench_worker/statistics.h"
#include "cpu_bench_worker/trial.h"

namespace whetstone {

struct TimedSize {
  double speedup = 0;       // median paired ratio
  double reference_ns = 0;  // median of one call, harness floor subtracted
  double candidate_ns = 0;
  int calls_per_bell = 0;
  int pairs = 0;
  int rounds_redone = 0;
};

struct TimeReport {
  Score score;
  std::vector<TimedSize> sizes;  // as the sizes given
  std::string first_bad;         // not empty: a timed output was wrong, nothing else counts
  int rounds = 0;                // judged rounds, and how many of them were right
  int rounds_right = 0;
  bool stopped_early = false;
};

// Times the candidate at `sizes`; `estimates` (one per size) come from CheckCandidate, `budget_s`
// bounds the whole stage. Every output of every round is judged.
std::optional<Failure> TimeCandidate(Trial* trial, const std::vector<CallShape>& sizes,
                                     const std::vector<CallEstimate>& estimates, double budget_s,
                                     TimeReport* report);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIME_STAGE_H_
