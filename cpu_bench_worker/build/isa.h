// Which vector instructions this processor has.
#ifndef WHETSTONE_CPU_BENCH_WORKER_BUILD_ISA_H_
#define WHETSTONE_CPU_BENCH_WORKER_BUILD_ISA_H_

#include <string>
#include <vector>

namespace whetstone {

// Returns those of "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "asimd",
// "sve" … that /proc/cpuinfo lists, in a fixed order.
std::vector<std::string> IsaExtensions();

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_BUILD_ISA_H_
