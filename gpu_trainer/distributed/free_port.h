// Finds a TCP port of 127.0.0.1 that nobody listens on now.
#ifndef WHETSTONE_GPU_TRAINER_DISTRIBUTED_FREE_PORT_H_
#define WHETSTONE_GPU_TRAINER_DISTRIBUTED_FREE_PORT_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace whetstone {

// Another program may take it in the meantime: whoever listens on it must be ready for that.
absl::StatusOr<uint16_t> FreeLoopbackPort();

// Returns a socket bound to a port of 127.0.0.1 (0: any free one), which the caller closes.
absl::StatusOr<int> BindLoopback(uint16_t port);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_DISTRIBUTED_FREE_PORT_H_
