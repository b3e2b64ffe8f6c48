// The loop of one Engine::Generate call lets the scheduler say which sequences decode, the
// speculator draft, the model runner compute logits or tokens, the sampler draw, and the sequences
// end.
//
//   GenerationLoop loop({.spec = spec, .sink = sink, …}, plan.slots, runner.get());
//   RETURN_IF_ERROR(loop.Run());
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_GENERATION_LOOP_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_GENERATION_LOOP_H_

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "gpu_trainer/engine/request/generate_spec.h"
#include "gpu_trainer/engine/runner/model_runner.h"
#include "gpu_trainer/engine/sampling/token_sampler.h"
#include "gpu_trainer/engine/schedule/scheduler.h"
#include "gpu_trainer/engine/schedule/sequence.h"
#include "gpu_trainer/engine/speculation/speculator.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/tokenizer/tokenizer.h"

namespace whetstone {

// Everything is borrowed.
struct GenerationSetup {
  const GenerateSpec& spec;  // It was checked (check_spec.h).
  const GenerateSink& sink;
  const ModelConfig& config;
  const Tokenizer& tokenizer;
  const TokenSampler& sampler;
  const Clock& clock;
  bool prompt_lookup = true;
};

// Run is called once. Not thread-safe.
class GenerationLoop {
 public:
  // `runner` is borrowed and has as many slots; null: `spec` asks for no sample.
  GenerationLoop(const GenerationSetup& setup, int64_t slots, ModelRunner* runner);

  // Returns when every sequence has ended. Errors: Engine::Generate.
  absl::Status Run();

 private:
  absl::Status Admit();
  absl::Status Step();
  DecodeInput InputOf(const Sequence& sequence) const;
  void Draw(const std::vector<DecodeInput>& inputs, size_t begin, size_t end, const float* logits);
  SampledToken Draw(const float* logits, size_t ahead, Sequence* sequence) const;
  absl::Status Take();
  absl::Status TakeToken(const SampledToken& token, Sequence* sequence);
  void Finish(Sequence* sequence);
  void Report();

  const GenerateSpec& spec_;
  const GenerateSink& sink_;
  const StopRules rules_;
  const TokenSampler& sampler_;
  const int64_t vocab_;
  Scheduler scheduler_;
  Speculator speculator_;
  ModelRunner* const runner_;
  // Each group's logits after its prompt: [1, V] f32. They are undefined before its prefill and
  // after its last sample.
  std::vector<torch::Tensor> prompt_logits_;
  // Each active sequence has drawn these in this step.
  std::vector<std::vector<SampledToken>> drawn_;
  GenerateStatus status_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_GENERATION_LOOP_H_
