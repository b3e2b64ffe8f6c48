// Finds the whet-sandbox program.
#ifndef WHETSTONE_SANDBOX_INIT_PROGRAM_H_
#define WHETSTONE_SANDBOX_INIT_PROGRAM_H_

#include "absl/status/statusor.h"

namespace whetstone {

// whet-sandbox, open for the life of this process: $WHETSTONE_SANDBOX if set, else the file beside
// this process's own executable. Borrowed. NOT_FOUND says where it was looked for. Thread-safe.
absl::StatusOr<int> InitProgramFd();

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_INIT_PROGRAM_H_
