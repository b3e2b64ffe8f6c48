// The stages one candidate goes through, without queues, caches or identities (measure.cc has
// those).
//
//   Artefact artefact = pipeline.Build(problem, source, &cancelled);
//   if (!artefact.final) pipeline.Check(problem, lease, seed, &cancelled, &artefact);
//   if (!artefact.final) pipeline.Time(problem, lease, seed, &cancelled, &artefact);
//   artefact.verdict …
//
// Thread-safe; an Artefact belongs to one thread at a time.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_PIPELINE_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_PIPELINE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cpu_bench_worker/host/slot_pool.h"
#include "cpu_bench_worker/measure/host_peak.h"
#include "cpu_bench_worker/measure/prepared_problem.h"
#include "cpu_bench_worker/timing/check_stage.h"
#include "cpu_bench_worker/timing/time_stage.h"

namespace whetstone {

// A candidate on its way: its verdict so far and what later stages need.
struct Artefact {
  v1::Verdict verdict;
  bool final = false;      // no later stage may change the verdict
  bool cancelled = false;  // ended by the flag; the verdict means nothing
  std::string object;      // bytes of the shared object, once built
  std::vector<CallEstimate> estimates;
  double spent_s = 0;      // wall time of all stages, without queueing
  double candidate_s = 0;  // of that, in the candidate's own invocations
};

class Pipeline {
 public:
  // All are borrowed, except the folder's name. With `screen` null there is no screen (tests).
  Pipeline(Compiler* compiler, ScreenClient* screen, SlotPool* slots, HostPeak* peak,
           std::string kernel_binary, std::string dir)
      : compiler_(compiler),
        screen_(screen),
        slots_(slots),
        peak_(peak),
        kernel_binary_(std::move(kernel_binary)),
        dir_(std::move(dir)),
        smt_detectors_(slots->plan().slots.size()) {}

  // Screens and compiles, unless `cancelled` (may be null) is set before a compiler's turn comes.
  Artefact Build(const PreparedProblem& problem, const std::string& source,
                 const std::atomic<bool>* cancelled);
  // The verdict is CORRECT and not final when every case is right.
  void Check(const PreparedProblem& problem, SlotPool::Lease* lease, uint64_t seed,
             const std::atomic<bool>* cancelled, Artefact* artefact);
  // Times, checks for an outlier and measures that a second time. The verdict is then always final.
  // `least_speedup` is as in TimeOptions.
  void Time(const PreparedProblem& problem, SlotPool::Lease* lease, uint64_t seed,
            StoppingCriterion criterion, double least_speedup, const std::atomic<bool>* cancelled,
            Artefact* artefact);

  // The reference against itself: right by its own rule and how far apart equal code measures.
  // INVALID_ARGUMENT: the reference isn't deterministic, or disagrees with the oracle or checker.
  // UNAVAILABLE: a fault of this host's. CANCELLED: by the flag (may be null). A disturbed machine
  // can spoil one try: where the first is wide, the median of `tries` counts.
  absl::StatusOr<double> AaThreshold(const PreparedProblem& problem, SlotPool::Lease* lease,
                                     int tries, const std::atomic<bool>* cancelled);

 private:
  // Writes the object to a file for the time of a stage.
  absl::StatusOr<std::string> Materialize(const Artefact& artefact);
  void End(const Failure& failure, Artefact* artefact);
  void EndWrong(int right, int cases, const std::string& first_bad, Artefact* artefact);
  // Why the timed result is too good to be believed at once; empty when it is not.
  absl::StatusOr<std::string> OutlierCheck(const PreparedProblem& problem, const TimeReport& report,
                                           const SlotCores& cores, v1::Verdict* verdict,
                                           bool* below_physical_floor);
  void Remeasure(const PreparedProblem& problem, const SlotPool::Lease& lease,
                 const std::string& object, uint64_t seed, StoppingCriterion criterion,
                 const std::string& reason, const std::atomic<bool>* cancelled, Artefact* artefact);
  // What is known of the slot's first kernel core; whoever holds the lease uses it. Null for a
  // lease of the whole host.
  SmtContentionDetector* SmtDetectorOf(const SlotPool::Lease& lease) {
    return lease.index() < smt_detectors_.size() ? &smt_detectors_[lease.index()] : nullptr;
  }

  Compiler* compiler_;
  ScreenClient* screen_;
  SlotPool* slots_;
  HostPeak* peak_;
  std::mutex peak_mutex_;
  const std::string kernel_binary_;
  const std::string dir_;
  std::vector<SmtContentionDetector> smt_detectors_;  // by slot
  std::atomic<uint64_t> objects_{0};
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_PIPELINE_H_
