// The texts of benchmark_support.h.in (buffers, inputs, comparison), benchmark_core.h.in
// (processors and clocks) and benchmark_timing.h.in (timing and judgement) are the parts of a
// stand-alone benchmark (standalone_benchmark.h) that are the same for every problem.
#ifndef WHETSTONE_COORDINATOR_PROOF_BENCHMARK_SUPPORT_H_
#define WHETSTONE_COORDINATOR_PROOF_BENCHMARK_SUPPORT_H_

#include "absl/strings/string_view.h"

namespace whetstone {

absl::string_view BenchmarkSupportText();
absl::string_view BenchmarkCoreText();
absl::string_view BenchmarkTimingText();

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROOF_BENCHMARK_SUPPORT_H_
