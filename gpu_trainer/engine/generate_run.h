// One Engine::Generate call: its queue, its sequences, its main loop.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_GENERATE_RUN_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_GENERATE_RUN_H_

#include "absl/status/status.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/rope.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/tokenizer/tokenizer.h"

namespace whetstone {

// Rows whose logits exist at one time.
inline constexpr int64_t kLogitRows = 32;

// Borrowed from the engine. `rope` covers the longest sequence.
struct EngineParts {
  const ModelConfig& config;
  const Weights& weights;
  const Tokenizer& tokenizer;
  const RopeTable& rope;
  const EngineOptions& options;
};

// `spec` has been checked (check_spec.h). Errors: Engine::Generate.
absl::Status RunGenerate(const EngineParts& engine, const GenerateSpec& spec,
                         const GenerateSink& sink);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_GENERATE_RUN_H_
