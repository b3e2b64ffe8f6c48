// An absl::Status becomes a grpc::Status and back: the codes are the same numbers, the message
// travels along.
#ifndef WHETSTONE_COMMON_GRPC_STATUS_H_
#define WHETSTONE_COMMON_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace whetstone {

grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_GRPC_STATUS_H_
