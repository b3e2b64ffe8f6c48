// Writes and reads the file of a learner's state: what must be saved besides the weights
// (Learner::State), as safetensors, each tensor whole.
#ifndef WHETSTONE_GPU_TRAINER_CHECKPOINT_OPTIMIZER_FILE_H_
#define WHETSTONE_GPU_TRAINER_CHECKPOINT_OPTIMIZER_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "gpu_trainer/checkpoint/state_gather.h"
#include "gpu_trainer/train/learner/learner.h"

namespace whetstone {

// Writes the state at `path`, tensor by tensor as `state` brings them. RESOURCE_EXHAUSTED: disk
// full.
absl::Status WriteOptimizerFile(StateGather& state, const std::string& path);

// Reads the slices of `rank` into the learner. INVALID_ARGUMENT: the file belongs to another model.
absl::Status ReadOptimizerFile(const std::string& path, int rank, Learner& learner);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CHECKPOINT_OPTIMIZER_FILE_H_
