// Generates whole groups: one prefill per prompt, then all samples decode together over the shared
// prefix, each completion delivered when it ends.
//
//   Engine engine(config, weights, tokenizer);
//   GenerateSpec spec{.seed = 17, .step = 3, .groups = {{.group_index = 0, .ids = prompt,
//                                                        .samples = {0, 1, 2, 3}}}};
//   spec.sampling.max_new_tokens = 128;
//   RETURN_IF_ERROR(engine.Generate(spec, {.on_completion = [&](Completion c) { … }}));
//
// Sequences wait in order and are admitted while there is a free slot and memory for its keys and
// values (schedule/); one step draws the next token of every admitted sequence, or several tokens
// where guessing them pays (speculation/). Keys and values of a prompt are kept once per group;
// attention reads them once for the whole group and merges with the sequence's own suffix by
// log-sum-exp (cache/).
//
// The token at `position` of a sample is decided by Philox(seed, {step, group_index, sample,
// position}), position counted from 0 after the prompt (sampling/). Where SIMD kernels of products
// serve (kernels/simd_kernels.h) they are batch-invariant: a sequence's tokens do not depend at all
// on what else is in the batch. Elsewhere they do so up to rounding, unless `deterministic` asks
// for more: then every forward pass computes kBatchInvariantRows rows, real ones or not, and
// attends row by row (runner/eager_model_runner.h).
//
// On a GPU whose kernels serve (kernels/cuda/cuda_choice.h), and without `deterministic`, a step
// stays on the device (runner/cuda_model_runner.h); elsewhere it goes through model/forward.h
// operator by operator.
//
// No call may run beside another on one Engine, nor beside an update of the weights.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_ENGINE_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_ENGINE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "gpu_trainer/engine/request/generate_spec.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/rope.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/tokenizer/tokenizer.h"

namespace whetstone {

struct EngineOptions {
  // Tokens are guessed ahead where that pays. It changes no result, and is left out where it could:
  // where a row's bits depend on the rows beside it.
  bool prompt_lookup = true;
  // On a GPU decoding steps are replayed from CUDA graphs. It changes no result.
  bool cuda_graphs = true;
  // The clock of deadlines and of what a guessed token costs. Borrowed; null: a SteadyClock.
  const Clock* clock = nullptr;
};

class Engine {
 public:
  // Borrows all three: they must outlive the engine. Weights may change between calls.
  Engine(const ModelConfig& config, const Weights& weights, const Tokenizer& tokenizer,
         const EngineOptions& options = {});

  // INVALID_ARGUMENT: an empty or too long prompt, a token id out of range, impossible sampling
  // settings. RESOURCE_EXHAUSTED: memory for keys and values does not hold one sequence. CANCELLED:
  // `cancelled` said so. INTERNAL: the logits were not finite.
  absl::Status Generate(const GenerateSpec& spec, const GenerateSink& sink);

  // Returns the log-probability of every token after the first, at temperature 1. Logits exist for
  // a few rows at a time. INVALID_ARGUMENT: longer than the context, or a token id out of range.
  absl::StatusOr<std::vector<float>> Score(const std::vector<int32_t>& ids);

 private:
  void EnsureRope(int64_t positions);

  const ModelConfig& config_;
  const Weights& weights_;
  const Tokenizer& tokenizer_;
  EngineOptions options_;
  RopeTable rope_;  // It grows with the longest sequence seen.
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_ENGINE_H_
