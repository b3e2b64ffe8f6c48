// Text that a hostile program had a hand in (diagnostics quote its source, a crash its stderr),
// made fit for terminals, logs, web pages and protobuf's strings.
#ifndef WHETSTONE_CPU_BENCH_WORKER_VERDICT_PRINTABLE_H_
#define WHETSTONE_CPU_BENCH_WORKER_VERDICT_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace whetstone {

// `text` as valid UTF-8 in which nothing steers a terminal or hides from a reader: malformed bytes,
// control characters (but newline), invisible characters and those that turn the direction of
// writing become '?', a tab becomes a space.
std::string Printable(absl::string_view text);

// The longest beginning of `text` of at most `bytes_max` bytes that cuts no UTF-8 sequence.
absl::string_view CutUtf8(absl::string_view text, size_t bytes_max);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_VERDICT_PRINTABLE_H_
