// BenchmarkSource writes a stand-alone benchmark's benchmark.cc (standalone_benchmark.h): the
// problem's arguments, sizes and comparison as C++. The function is pure and thread-safe.
#ifndef WHETSTONE_COORDINATOR_PROOF_BENCHMARK_SOURCE_H_
#define WHETSTONE_COORDINATOR_PROOF_BENCHMARK_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// `verdict` holds the speedups to compare with. INVALID_ARGUMENT: a signature that can't be read.
absl::StatusOr<std::string> BenchmarkSource(const v1::Problem& problem, const v1::Verdict& verdict);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROOF_BENCHMARK_SOURCE_H_
