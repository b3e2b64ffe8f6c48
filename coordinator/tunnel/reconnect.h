// How every implementation of Tunnel comes back after its connection was lost.
#ifndef WHETSTONE_COORDINATOR_TUNNEL_RECONNECT_H_
#define WHETSTONE_COORDINATOR_TUNNEL_RECONNECT_H_

#include <chrono>

#include "absl/status/status.h"

namespace whetstone {

// Between two attempts: the first, doubled after each up to the second.
inline constexpr std::chrono::milliseconds kBackoffMin{100};
inline constexpr std::chrono::milliseconds kBackoffMax{2000};

// A host key that changed and a key that is refused do not heal, and must not be hammered.
inline bool IsFinal(const absl::Status& status) {
  return status.code() == absl::StatusCode::kPermissionDenied ||
         status.code() == absl::StatusCode::kUnauthenticated ||
         status.code() == absl::StatusCode::kInvalidArgument;
}

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TUNNEL_RECONNECT_H_
