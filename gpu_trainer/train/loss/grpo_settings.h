// Reads an Update's GrpoSettings, checked and in the trainer's own terms.
//
//   ASSIGN_OR_RETURN(const GrpoPlan plan, ParseGrpoSettings(batch.settings()));
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LOSS_GRPO_SETTINGS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LOSS_GRPO_SETTINGS_H_

#include "absl/status/statusor.h"
#include "gpu_trainer/train/loss/advantage.h"
#include "gpu_trainer/train/loss/loss.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct GrpoPlan {
  LossSettings loss;
  AdvantageScale scale = AdvantageScale::kGroup;
  int minibatches = 1;  // optimizer steps
  double temperature = 1;
  bool mask_truncated = false;
};

// INVALID_ARGUMENT: the setting that is out of range, with its bounds.
absl::StatusOr<GrpoPlan> ParseGrpoSettings(const v1::GrpoSettings& settings);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LOSS_GRPO_SETTINGS_H_
