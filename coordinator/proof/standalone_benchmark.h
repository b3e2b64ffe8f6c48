// A stand-alone benchmark is a Google Benchmark that proves one program's speedup without
// Whetstone: it builds the problem's inputs, compares the candidate's outputs with the reference's
// on every check and timed size, and times both in random order.
//
//   ASSIGN_OR_RETURN(const auto files, StandaloneBenchmark(problem, source, verdict));
//   for (const auto& [name, text] : files) Write(name, text);
//
//   $ cmake -B build && cmake --build build && build/benchmark
//
// Its exit code is 0 if the program is right everywhere and as fast as recorded or faster, within
// a tolerance that it states. It needs a C++20 compiler, CMake and libbenchmark. The
// function is pure and thread-safe.
#ifndef WHETSTONE_COORDINATOR_PROOF_STANDALONE_BENCHMARK_H_
#define WHETSTONE_COORDINATOR_PROOF_STANDALONE_BENCHMARK_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// Maps file names to their content: candidate.cc, reference.cc, benchmark.cc and its headers,
// CMakeLists.txt, run.sh and, where the problem has them, oracle.cc, generator.cc, checker.cc,
// types.h. `verdict` is what a worker measured. INVALID_ARGUMENT: a signature that can't be read
// (no parsed problem has one).
absl::StatusOr<std::map<std::string, std::string>> StandaloneBenchmark(const v1::Problem& problem,
                                                                       const std::string& source,
                                                                       const v1::Verdict& verdict);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROOF_STANDALONE_BENCHMARK_H_
