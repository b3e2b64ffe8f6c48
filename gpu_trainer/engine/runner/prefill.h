// All runners encode a prompt alike: by one forward pass, and the head for the last token.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_PREFILL_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_PREFILL_H_

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "gpu_trainer/engine/runner/generation_work.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/forward.h"
#include "gpu_trainer/model/rope.h"
#include "gpu_trainer/model/weights.h"

namespace whetstone {

// Does what ModelRunner::Prefill does. `attend` keeps each layer's keys and values.
torch::Tensor PrefillLogits(const ModelConfig& config, const Weights& weights,
                            const RopeTable& rope, const GenerationWork& work,
                            const std::vector<int32_t>& ids, const AttendFn& attend);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_PREFILL_H_
