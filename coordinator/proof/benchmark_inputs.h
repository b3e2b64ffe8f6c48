// These functions write the part of a benchmark's text that makes a call's arguments: the struct
// that holds them, how they are filled from a seed, and how they are written anew before each call.
#ifndef WHETSTONE_COORDINATOR_PROOF_BENCHMARK_INPUTS_H_
#define WHETSTONE_COORDINATOR_PROOF_BENCHMARK_INPUTS_H_

#include <string>

#include "coordinator/proof/benchmark_problem.h"

namespace whetstone {

// Returns the text of struct Data, the arguments of one call.
std::string InputStruct(const BenchmarkProblem& b);
// Returns the text of struct Point, of Bytes(point), Data Lay(point, arena) and Data Make(point,
// seed, arena).
std::string InputMaker(const BenchmarkProblem& b);
// Returns the text of Restore(to, from).
std::string InputRestorer(const BenchmarkProblem& b);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROOF_BENCHMARK_INPUTS_H_
