// OutputComparison writes the part of a benchmark's text that judges a call: bool Same(before, got,
// want).
#ifndef WHETSTONE_COORDINATOR_PROOF_BENCHMARK_COMPARISON_H_
#define WHETSTONE_COORDINATOR_PROOF_BENCHMARK_COMPARISON_H_

#include <string>

#include "coordinator/proof/benchmark_problem.h"

namespace whetstone {

// Same asks the problem's checker if it has one, else it compares element by element by its rule.
std::string OutputComparison(const BenchmarkProblem& b);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROOF_BENCHMARK_COMPARISON_H_
