// Reads a checkpoint's files piece by piece, for whoever brings it to another machine.
#ifndef WHETSTONE_GPU_TRAINER_CHECKPOINT_CHECKPOINT_FILE_H_
#define WHETSTONE_GPU_TRAINER_CHECKPOINT_CHECKPOINT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace whetstone {

inline constexpr int64_t kCheckpointPieceBytesMax = 64 << 20;

// Returns at most `length` bytes of `file` from `offset`, fewer at its end, none beyond it. Only
// the manifest (kManifestFile) of a checkpoint that SaveCheckpoint wrote and the regular files it
// names can be read; `directory` is absolute. NOT_FOUND: no checkpoint there, or no such file in
// it. INVALID_ARGUMENT: a relative directory, a length that is not 1 to kCheckpointPieceBytesMax, a
// negative offset.
absl::StatusOr<std::string> ReadCheckpointFile(const std::string& directory,
                                               const std::string& file, int64_t offset,
                                               int64_t length);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CHECKPOINT_CHECKPOINT_FILE_H_
