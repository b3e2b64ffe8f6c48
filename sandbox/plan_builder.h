// Turns a SandboxSpec into the Plan that the init program carries out: checks it, adds the
// profile's file system view and its seccomp filter.
#ifndef WHETSTONE_SANDBOX_PLAN_BUILDER_H_
#define WHETSTONE_SANDBOX_PLAN_BUILDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "sandbox/sandbox.h"

namespace whetstone {

// Who the program is inside when root starts it; outside it is kOutsideId ("nobody"), so it is
// never the host's root. Started without privileges it is id 0 inside and the caller outside.
inline constexpr int kProgramId = 1000;
inline constexpr int kOutsideId = 65534;

// The encoded plan. INVALID_ARGUMENT names what is wrong with the specification.
absl::StatusOr<std::string> BuildPlan(const SandboxSpec& spec, bool privileged);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_PLAN_BUILDER_H_
