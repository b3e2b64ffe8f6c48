// Tags what a program does to be fast: telemetry for people, nothing is decided by it.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_TECHNIQUES_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_TECHNIQUES_H_

#include <vector>

#include "cpu_bench_worker/screen/findings.h"

namespace clang {
class ASTContext;
class Decl;
}  // namespace clang

namespace whetstone {

// Adds to `findings->techniques`, any of: "simd_intrinsics" (_mm…), "vector_extension"
// (vector_size), "blocking" (a loop that steps by more than one around another loop, or four loops
// deep), "unrolling" (a step above one without an inner loop, or a pragma), "pragma_simd",
// "restrict", "prefetch", "fma", "target", "static_buffer", "heap_scratch", "lookup_table",
// "threads", "branchless" (conditional operators inside loops), "std_algorithm".
void TagTechniques(clang::ASTContext* context, const std::vector<clang::Decl*>& declarations,
                   const std::string& source, ScreenFindings* findings);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_TECHNIQUES_H_
