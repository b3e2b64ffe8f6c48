// CheckServing is the client's side of the standard gRPC health check (grpc.health.v1).
#ifndef WHETSTONE_COORDINATOR_SERVICES_HEALTH_H_
#define WHETSTONE_COORDINATOR_SERVICES_HEALTH_H_

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace whetstone {

// A server that has just been started or connected to has this deadline.
inline constexpr std::chrono::seconds kHealthDeadline{10};

// Returns OK once the server at `target` (a gRPC target) says it is SERVING; waits at most
// `deadline` for that, reconnecting as needed. UNAVAILABLE: nobody answers. FAILED_PRECONDITION:
// not serving. `cancelled` (may be empty) is polled: true ends the wait.
absl::Status CheckServing(const std::string& target, std::chrono::milliseconds deadline,
                          const std::function<bool()>& cancelled = nullptr);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_HEALTH_H_
