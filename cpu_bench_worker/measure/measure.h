// Measures candidates: one source in, one typed verdict out. The heart of whet-worker, usable as a
// library (tests/abuse drives it directly).
//
//   MeasurerOptions options;
//   options.bin_dir = "/opt/whetstone/bin";             // holds whet-kernel and whet-screener
//   ASSIGN_OR_RETURN(auto measurer, Measurer::Create(options));
//   ASSIGN_OR_RETURN(v1::Calibration calibration, measurer->PutProblem(problem, nullptr));
//   v1::MeasureRequest request;
//   request.set_problem_hash(ProblemHash(problem));     // common/problem/problem_hash.h
//   request.set_candidate_id("run7/step3/matmul/5");
//   request.set_source(source);
//   request.set_time(true);
//   ASSIGN_OR_RETURN(v1::Verdict verdict, measurer->Measure(request));
//
// The candidate is hostile. Timer, inputs, expected outputs and comparison live in this process;
// the candidate's code only ever runs in a sandboxed child, entered through shared memory
// (mailbox.h). Stages: screen → compile → check → time → outlier check. Everything a candidate does
// is a Verdict; an absl::Status is the caller's mistake or a cancellation. A fault of ours is a
// Verdict with INFRASTRUCTURE_ERROR, never booked as the candidate's.
//
// Thread-safe: every method may be called from many threads. At most `slots` candidates are timed
// at once, each on its own cores; other calls queue. Measure blocks until its verdict is there.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_MEASURE_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_MEASURE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/problem/problem_hash.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/verdict.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

struct MeasurerOptions {
  // Folder of the helper programs whet-kernel and whet-screener. Empty: this program's own folder.
  std::string bin_dir;
  // Cores to use, given out in this order, by physical core; empty: those this process may run on.
  std::vector<int> cores;
  // Candidates timed at the same time; 0: as PlanCores (slot_pool.h) finds best, at least 1.
  int slots = 0;
  // A slot whose A/A threshold was last measured longer ago than this has it measured again before
  // the next candidate is timed on it.
  std::chrono::seconds aa_interval{180};
  // Measures the A/A threshold of every slot right away, in the background, instead of before its
  // first candidate.
  bool aa_at_start = false;
  // Called once, from any thread, by the first call that is UNAVAILABLE: this measurer's folder is
  // not whole any more, say because somebody cleaned up $TMPDIR, and every call fails from then on.
  // What was measured meanwhile does not count. May be empty.
  std::function<void(const absl::Status& why)> broken;
  // Tests only: false lets hostile code past the screen, so that the sandbox and the ruler are
  // tested on their own. The canonical hash and the technique tags are then empty.
  bool screen = true;
};

class Measurer {
 public:
  // Probes the sandbox, starts the screener, assigns the cores.
  // FAILED_PRECONDITION: a helper program or the compiler is missing, or nothing isolates here.
  static absl::StatusOr<std::unique_ptr<Measurer>> Create(const MeasurerOptions& options);
  virtual ~Measurer() = default;

  // Compiles the reference, the expert and the operator's programs and calibrates: the reference
  // against itself gives the A/A threshold, the expert its verdict. `known` (may be null) is an
  // earlier calibration of this host and skips both. Idempotent by ProblemHash. INVALID_ARGUMENT:
  // the problem is unsound; the message names the field and what to change. FAILED_PRECONDITION:
  // this host can't measure it (fewer cores than compile.threads, no such compiler). Any other
  // code: a fault of this host's, which may pass (its disk is full); UNAVAILABLE also: see options.
  virtual absl::StatusOr<v1::Calibration> PutProblem(const v1::Problem& problem,
                                                     const v1::Calibration* known) = 0;

  // One candidate, one verdict. Idempotent by candidate_id: a repeated call joins the running one
  // or gets the verdict already reached; a call with `time` after one without goes on from its
  // artefact. FAILED_PRECONDITION: unknown problem_hash (or so long unused that it was forgotten),
  // call PutProblem first. INVALID_ARGUMENT: no candidate_id, one that names another program, or
  // more bytes than any program has. CANCELLED: by Cancel. UNAVAILABLE: see options.
  virtual absl::StatusOr<v1::Verdict> Measure(const v1::MeasureRequest& request) = 0;

  // Drops candidates that wait or run; their Measure calls return CANCELLED. Unknown ids are
  // ignored.
  virtual void Cancel(const std::vector<std::string>& candidate_ids) = 0;

  // What this host is; never fails.
  virtual v1::WorkerInfo Info() = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_MEASURE_H_
