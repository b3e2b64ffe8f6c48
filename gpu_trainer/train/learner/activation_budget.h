// Decides how many tokens a micro-batch may have, and what its layers keep for the backward pass.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_ACTIVATION_BUDGET_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_ACTIVATION_BUDGET_H_

#include <cstdint>
#include <vector>

#include "gpu_trainer/model/config.h"
#include "gpu_trainer/train/batch/packing.h"
#include "gpu_trainer/train/pass/decoder_pass.h"

namespace whetstone {

// Says whether layers are computed twice to save memory (DecoderPass::Keep::kInputs). kAuto does so
// where less than 1024 tokens of a micro-batch (4096 on a GPU) would fit otherwise.
enum class ActivationCheckpointing { kAuto, kOff, kOn };

// It is constant after construction.
class ActivationBudget {
 public:
  // An automatic number of tokens is never less.
  static constexpr int64_t kTokensMin = 256;

  // `tokens` > 0 means that many; 0, as many as keep 512 MiB of activations, or a whole group (what
  // it shares would else be computed twice) where that keeps at most 1.5 GiB. Neither more than a
  // quarter of `free_bytes`. More tokens gain a CPU no speed; on a GPU both are 6 GiB, and a given
  // number of tokens is kept where half of `free_bytes` holds it.
  ActivationBudget(const ModelConfig& config, torch::ScalarType dtype, int64_t tokens,
                   ActivationCheckpointing checkpointing, int64_t free_bytes, torch::Device device);

  const PackLimits& limits() const { return limits_; }
  DecoderPass::Keep keep() const { return keep_; }

 private:
  DecoderPass::Keep keep_ = DecoderPass::Keep::kAll;
  PackLimits limits_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_ACTIVATION_BUDGET_H_
