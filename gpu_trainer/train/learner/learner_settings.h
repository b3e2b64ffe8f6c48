// Reads LearnerSettings of trainer.proto, checked and in the learner's own terms.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_LEARNER_SETTINGS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_LEARNER_SETTINGS_H_

#include "absl/status/statusor.h"
#include "gpu_trainer/train/learner/learner.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// INVALID_ARGUMENT: an unknown value (the valid ones are listed), low-precision optimizer state off
// the CPU. Empty settings are the defaults. CheckLora is the caller's, who knows the model.
absl::StatusOr<LearnerOptions> ParseLearnerSettings(const v1::LearnerSettings& settings,
                                                    torch::Device device);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_LEARNER_SETTINGS_H_
