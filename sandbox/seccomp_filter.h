// The system calls each profile may make, as a BPF program.
//
// kRun: everything outside a short list kills the process (SIGSYS), and the one exec it needs is
//   tied to a descriptor number that the program can never own again.
// kCompile: what a tool chain needs is allowed, what only an attack needs kills, the rest answers
//   EPERM (clone3: ENOSYS, so that libc falls back to clone, whose flags can be inspected).
// Both: 32-bit and x32 calls kill. Loaded with SECCOMP_FILTER_FLAG_SPEC_ALLOW by the caller.
#ifndef WHETSTONE_SANDBOX_SECCOMP_FILTER_H_
#define WHETSTONE_SANDBOX_SECCOMP_FILTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "sandbox/sandbox.h"

namespace whetstone {

// An array of sock_filter as bytes. `threads`: kRun may start threads (never processes). Built once
// per combination and cached; thread-safe.
absl::StatusOr<std::string> SeccompFilter(Profile profile, bool threads);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_SECCOMP_FILTER_H_
