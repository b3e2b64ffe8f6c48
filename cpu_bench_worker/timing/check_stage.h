// Is the candidate right? Every size, the hidden ones included, plain, unaligned and with edge
// values. Also yields a first estimate of how long a call at a timed size takes.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_CHECK_STAGE_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_CHECK_STAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "cpu_bench_worker/stats/plan.h"
#include "cpu_bench_worker/timing/session.h"

namespace whetstone {

struct CheckReport {
  int cases = 0;
  int cases_right = 0;
  std::string first_bad;            // of the first wrong case
  std::vector<CallEstimate> timed;  // one per size of BenchProblem::timed
};

// A Failure ends the candidate (crash, timeout, forbidden, ours); wrong answers are in the report.
std::optional<Failure> CheckCandidate(Session* session, CheckReport* report);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_CHECK_STAGE_H_
