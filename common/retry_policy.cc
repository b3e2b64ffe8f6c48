#include "common/retry_policy.h"

#include <algorithm>
#include <utility>

namespace whetstone {

bool IsPermanent(Operation operation, const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    case absl::StatusCode::kNotFound:
      return operation == Operation::kConnect;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
      return operation == Operation::kCall;
    default:
      return false;
  }
}

std::chrono::milliseconds Backoff::Next() {
  return std::exchange(next_, std::min(2 * next_, kMax));
}

}  // namespace whetstone
