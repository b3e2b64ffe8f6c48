// How fast is the candidate? Samples interleaved with the reference's, over fresh process pairs.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_TIME_STAGE_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_TIME_STAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "cpu_bench_worker/stats/plan.h"
#include "cpu_bench_worker/stats/statistics.h"
#include "cpu_bench_worker/stats/stopping.h"
#include "cpu_bench_worker/timing/check_stage.h"
#include "cpu_bench_worker/timing/core_probe.h"
#include "cpu_bench_worker/timing/session.h"
#include "cpu_bench_worker/timing/timed_samples.h"

namespace whetstone {

struct TimeReport {
  Score score;
  std::vector<TimedSize> sizes;  // as the sizes given
  // What the score was computed from: ratios[size][pair][sample], reference ÷ candidate.
  std::vector<PairedRatios> ratios;
  std::string first_bad;  // not empty: a timed output was wrong, nothing else counts
  int samples = 0;        // judged samples, and how many of them were right
  int samples_right = 0;
  bool stopped_early = false;
  bool below_least = false;  // that was for `least_speedup`, and nothing else
  int process_pairs = 0;
  double start_s = 0;        // of the stage's time: starting process pairs …
  double invocations_s = 0;  // … and their invocations, warm-up and harness floor included
};

struct TimeOptions {
  double budget_s = kTimeBudgetSeconds;  // bounds the stage, waiting for a core of its own apart
  // The budget runs out by this clock, or by the host's where it is null.
  const Clock* clock = nullptr;
  StoppingCriterion criterion = StoppingCriterion::kClear;
  // With kClear: it also ends once the speedup is clearly below this. 0: never for that.
  double least_speedup = 0;
  // How far equal code may be apart on this slot, which widens the verdict's interval. 0: unknown.
  double aa_threshold = 0;
  // Probes the kernel core. Null: one of its own, where the timer has a core apart and the problem
  // one thread; elsewhere nothing does.
  CoreProbe* core_probe = nullptr;
  // What is known of that core from earlier. Null: nothing.
  SmtContentionDetector* smt_detector = nullptr;
};

// Times the candidate at `sizes`; `estimates` (one per size) come from CheckCandidate. Every output
// of every sample is judged.
std::optional<Failure> TimeCandidate(Session* session, const std::vector<CallShape>& sizes,
                                     const std::vector<CallEstimate>& estimates,
                                     const TimeOptions& options, TimeReport* report);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_TIME_STAGE_H_
