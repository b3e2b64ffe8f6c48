// C++ text of the trusted entry that a kernel process calls: it takes one row of the call table
// (mailbox.h) apart into the typed arguments of a problem's function. Compiled once per problem,
// in a translation unit of its own that only declares the function, so a candidate with another
// signature does not link, and the compiler can't look through the call.
#ifndef WHETSTONE_CPU_BENCH_WORKER_BUILD_SHIM_H_
#define WHETSTONE_CPU_BENCH_WORKER_BUILD_SHIM_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cpu_bench_worker/problem/arguments.h"
#include "cpu_bench_worker/problem/call_batch.h"

namespace whetstone {

// "matmul" of "void matmul(const float* a, int n)". INVALID_ARGUMENT: there is no such name.
absl::StatusOr<std::string> FunctionName(absl::string_view signature);

// The entry for `role`. It static_asserts that the signature and the problem's `args` agree (count,
// element types and sizes, const for inputs, the layout of structs), so a mistake there is a
// readable compiler error. The problem's structs must be defined before it.
absl::StatusOr<std::string> ShimSource(absl::string_view signature, const Arguments& arguments,
                                       CallRole role);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_BUILD_SHIM_H_
