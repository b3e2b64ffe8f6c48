// Runs the program whet-rewriter once; clang stays out of whet.
#ifndef WHETSTONE_COORDINATOR_REWRITES_REWRITER_CALL_H_
#define WHETSTONE_COORDINATOR_REWRITES_REWRITER_CALL_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace whetstone {

// Returns the answer, JSON, to a request (cpu_bench_worker/rewrite/rewriter_main.cc). Both are
// files in `folder`, where headers stay precompiled for the next call; `id` is the problem's, for
// messages. INVALID_ARGUMENT: clang refuses the headers or flags. CANCELLED: `cancelled` said so.
// DEADLINE_EXCEEDED: it took over a minute. NOT_FOUND: whet-rewriter is not installed. INTERNAL: it
// crashed.
absl::StatusOr<std::string> CallRewriter(const std::string& request, const std::string& folder,
                                         const std::string& id,
                                         const std::function<bool()>& cancelled);

// What an answer is that does not say what was asked.
absl::Status OutsideTheProtocol();

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REWRITES_REWRITER_CALL_H_
