// Benchmarks and profiles run this GRPO step, with a reward that costs nothing.
//
//   ASSIGN_OR_RETURN(v1::GrpoBatch batch, GenerateSyntheticBatch(work, 0, tokenizer, engine));
//   ASSIGN_OR_RETURN(UpdateResult result, UpdateSynthetically(work, batch, learner));
//
// Prompts are words of code, the reward a hash of the text; every completion has the same length.
#ifndef WHETSTONE_GPU_TRAINER_SYNTHETIC_SYNTHETIC_STEP_H_
#define WHETSTONE_GPU_TRAINER_SYNTHETIC_SYNTHETIC_STEP_H_

#include <functional>

#include "absl/status/statusor.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/tokenizer/tokenizer.h"
#include "gpu_trainer/train/learner/learner.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct SyntheticWork {
  int prompts = 2;  // groups of one step
  int group = 8;    // completions of a group
  int prompt_tokens = 256;
  int new_tokens = 128;
  double lr = 1e-6;
};

// Step 0, 1, … have different prompts. For `on_progress` see GenerateSink.
absl::StatusOr<v1::GrpoBatch> GenerateSyntheticBatch(
    const SyntheticWork& work, int step, const Tokenizer& tokenizer, Engine& engine,
    const std::function<void(const GenerateStatus&)>& on_progress = nullptr);

// INTERNAL where the update was skipped.
absl::StatusOr<UpdateResult> UpdateSynthetically(const SyntheticWork& work,
                                                 const v1::GrpoBatch& batch, Learner& learner);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_SYNTHETIC_SYNTHETIC_STEP_H_
