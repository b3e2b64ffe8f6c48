// Writes and reads the resume/ folder of a checkpoint (checkpoint.h): what a policy needs to go on
// learning.
#ifndef WHETSTONE_GPU_TRAINER_CHECKPOINT_RESUME_STATE_H_
#define WHETSTONE_GPU_TRAINER_CHECKPOINT_RESUME_STATE_H_

#include <string>

#include "absl/status/status.h"
#include "gpu_trainer/checkpoint/policy.h"
#include "gpu_trainer/checkpoint/state_gather.h"

namespace whetstone {

// The folder has this name in a checkpoint's directory.
inline constexpr char kResumeFolder[] = "resume";

// Writes state.json, optimizer.safetensors and last_update.pb into `directory`/resume, which must
// be there, but not the manifest, which comes last of all files. `gathered` is the learner's state.
absl::Status WriteResumeState(const Policy& policy, StateGather& gathered,
                              const std::string& directory);

// Verifies the files of a checkpoint but those in resume/ against its manifest; any other directory
// has no list of what they should be. INVALID_ARGUMENT: a missing or damaged file; it is named.
absl::Status VerifyModelFiles(const std::string& directory);

// Verifies all files of the checkpoint in `directory` against its manifest, and reads the state
// into `policy`, whose weights have been read. INVALID_ARGUMENT: a missing or damaged file, or
// another learner's state; it is named.
absl::Status ReadResumeState(const std::string& directory, Policy& policy);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CHECKPOINT_RESUME_STATE_H_
