// What makes two programs the same to a stopwatch: their machine code.
#ifndef WHETSTONE_CPU_BENCH_WORKER_OBJECT_HASH_H_
#define WHETSTONE_CPU_BENCH_WORKER_OBJECT_HASH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// SHA-256 (hex) over every section of the ELF object `bytes` that is loaded (text, rodata, data,
// relocations, dynamic symbols), except the build id, and over `context` (flags and tool chain).
// Symbol names and debug information that aren't loaded don't count.
// INVALID_ARGUMENT: not a well-formed 64-bit little-endian ELF object.
absl::StatusOr<std::string> ObjectHash(absl::string_view bytes, absl::string_view context);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_OBJECT_HASH_H_
