// RUN/best/<problem>/: the fastest verified program of a problem, and all it takes to believe it.
//
//   candidate.cc   the program
//   verdict.json   what the worker found, measured again in fresh processes
//   benchmark.cc   a Google Benchmark of reference and candidate that needs nothing of Whetstone
//   Makefile, README.md, run.sh
#ifndef WHETSTONE_COORDINATOR_BEST_H_
#define WHETSTONE_COORDINATOR_BEST_H_

#include <string>

#include "absl/status/status.h"
#include "coordinator/facts.h"
#include "coordinator/run_dir.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Replaces what was there, file by file; written again, it is the same.
absl::Status PublishBest(const RunPaths& paths, const v1::Problem& problem,
                         const LeaderFact& leader);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_BEST_H_
