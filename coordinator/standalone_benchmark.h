// A Google Benchmark that proves one program's speedup without Whetstone: it builds the problem's
// inputs, compares the candidate's outputs with the reference's on every check and timed size, and
// times both in random order.
//
//   for (const auto& [name, text] : StandaloneBenchmark(problem, source)) Write(name, text);
//   $ make && ./benchmark        # exit code 0: right everywhere and faster than the reference
//
// Needs a C++20 compiler, make and libbenchmark. Pure function, thread-safe.
#ifndef WHETSTONE_COORDINATOR_STANDALONE_BENCHMARK_H_
#define WHETSTONE_COORDINATOR_STANDALONE_BENCHMARK_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// File name → content: candidate.cc, reference.cc, benchmark.cc, Makefile, run.sh and, where the
// problem has them, oracle.cc, generator.cc, checker.cc. INVALID_ARGUMENT: a signature that can't
// be read (no parsed problem has one).
absl::StatusOr<std::map<std::string, std::string>> StandaloneBenchmark(const v1::Problem& problem,
                                                                       const std::string& source);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_STANDALONE_BENCHMARK_H_
