// Is the candidate right? Every check size plain, unaligned and with edge values, then every timed
// size. Also yields a first estimate of how long a call takes.
#ifndef WHETSTONE_CPU_BENCH_WORKER_CHECK_STAGE_H_
#define WHETSTONE_CPU_BENCH_WORKER_CHECK_STAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "cpu_bench_worker/trial.h"

namespace whetstone {

// Shortest time seen of one call, waking included, for one size.
struct CallEstimate {
  double reference_ns = 0;
  double candidate_ns = 0;
};

struct CheckReport {
  int cases = 0;
  int cases_right = 0;
  std::string first_bad;            // of the first wrong case
  std::vector<CallEstimate> timed;  // one per size of BenchProblem::timed (or `hidden`)
};

// A Failure ends the candidate (crash, timeout, forbidden, ours); wrong answers are in the report.
// `sizes` are the larger sizes tried after the check sizes: the timed or the hidden ones.
std::optional<Failure> CheckCandidate(Trial* trial, const std::vector<CallShape>& sizes,
                                      CheckReport* report);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_CHECK_STAGE_H_
