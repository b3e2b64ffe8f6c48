// Reads the settings of trainer.proto's requests in the terms of learner, tokenizer and engine.
#ifndef WHETSTONE_GPU_TRAINER_RPC_REQUEST_SETTINGS_H_
#define WHETSTONE_GPU_TRAINER_RPC_REQUEST_SETTINGS_H_

#include "absl/status/statusor.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/tokenizer/chat.h"
#include "gpu_trainer/train/learner/learner.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

StepSettings StepSettingsOf(const v1::OptimizerSettings& settings);

// INVALID_ARGUMENT: an unknown value; the valid ones are listed.
absl::StatusOr<ChatOptions> ChatOptionsOf(const v1::ChatSettings& settings);

// Reads everything but the groups, the ends of a completion, and what memory the process must
// leave.
GenerateSpec GenerateSpecOf(const v1::GenerateRequest& request);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_REQUEST_SETTINGS_H_
