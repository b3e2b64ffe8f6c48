// Reads what the screener answers. The process that writes it has parsed hostile source, so after a
// bug in clang the answer may be any bytes.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREEN_REPORT_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREEN_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "cpu_bench_worker/screen/screen_client.h"

namespace whetstone {

// The outcome is one that a screen may give; the hash has at most 64 characters, and there are at
// most 64 techniques of as many. INTERNAL: anything else.
absl::StatusOr<ScreenReport> ParseScreenReport(const std::string& text);

// The canonical type of the signature. INVALID_ARGUMENT: the screener's refusal; INTERNAL: not an
// answer.
absl::StatusOr<std::string> ParsePreparedType(const std::string& text);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREEN_REPORT_H_
