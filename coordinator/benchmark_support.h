// The text of benchmark_support.h.in: the part of a stand-alone benchmark (standalone_benchmark.h)
// that is the same for every problem.
#ifndef WHETSTONE_COORDINATOR_BENCHMARK_SUPPORT_H_
#define WHETSTONE_COORDINATOR_BENCHMARK_SUPPORT_H_

#include "absl/strings/string_view.h"

namespace whetstone {

absl::string_view BenchmarkSupportText();

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_BENCHMARK_SUPPORT_H_
