// What a candidate's author, a policy, learns of a compiler's output.
#ifndef WHETSTONE_CPU_BENCH_WORKER_BUILD_DIAGNOSTICS_H_
#define WHETSTONE_CPU_BENCH_WORKER_BUILD_DIAGNOSTICS_H_

#include <string>

namespace whetstone {

// First three errors of a compiler's output, paths removed, at most 700 bytes.
std::string TrimDiagnostics(const std::string& text);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_BUILD_DIAGNOSTICS_H_
