// Why a measurement ended without a speedup: an outcome and one paragraph for people and the model.
#ifndef WHETSTONE_CPU_BENCH_WORKER_VERDICT_FAILURE_H_
#define WHETSTONE_CPU_BENCH_WORKER_VERDICT_FAILURE_H_

#include <string>

#include "absl/status/status.h"
#include "sandbox/sandbox.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

struct Failure {
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  std::string detail;
  bool unsound = false;  // a program of the problem's operator failed
  bool hosts = false;    // it was killed, as by a host without memory (MayBeTheHosts)
};

// A fault of ours or, with INVALID_ARGUMENT, of the problem's, whoever ran: INFRASTRUCTURE_ERROR.
Failure OurFault(const absl::Status& status);

// The same fault for whoever puts a problem: UNAVAILABLE with its text. INVALID_ARGUMENT, as the
// sandbox calls a missing file, would say that the problem is unsound. OK stays OK.
absl::Status OurStatus(const absl::Status& status);

// The fault of a program of the problem's: INVALID_ARGUMENT with `text`; UNAVAILABLE where it may
// be the host's.
absl::Status ProblemStatus(bool hosts, const std::string& text);

// Says whether something killed it, or what it had started: a host without memory does. What took
// too long is the program's, as nobody can tell otherwise.
bool MayBeTheHosts(const SandboxResult& result);

// How a kernel process that should have gone on ended. `doing` completes "… while DOING", for
// example "computing n=96".
Failure FailureOfEnd(const SandboxResult& result, const std::string& doing);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_VERDICT_FAILURE_H_
