// Generation of whole groups: one prefill per prompt, then all samples decode together over the
// shared prefix, each completion delivered when it ends.
//
//   Engine engine(config, weights, tokenizer);
//   GenerateSpec spec{.seed = 17, .step = 3, .groups = {{.problem = 0, .ids = prompt,
//                                                        .samples = {0, 1, 2, 3}}}};
//   spec.sampling.max_new_tokens = 128;
//   RETURN_IF_ERROR(engine.Generate(spec, {.on_completion = [&](Completion c) { … }}));
//
// How it decodes: sequences wait in order and are admitted while there is a free slot and memory
// for its keys and values (continuous batching); one step draws the next token of every admitted
// sequence, or several tokens where guessing them pays (prompt_lookup.h). Keys and values of a
// prompt are kept once per group; attention reads them once for the whole group and merges with the
// sequence's own suffix by log-sum-exp.
//
// Randomness: the token at `position` of a sample is decided by Philox(seed, {step, problem,
// sample, position}), position counted from 0 after the prompt. On a CPU with AVX-512 a sequence's
// tokens do not depend at all on what else is in the batch; elsewhere only up to rounding, unless
// `deterministic` asks for more: then every step computes kDecodeRows rows, real ones or not, and
// attends row by row, so that no result depends on who else decodes.
//
// On a GPU whose kernels serve (kernels/cuda/cuda_choice.h), and without `deterministic`, a step
// stays on the device (device_decoder.h); elsewhere it goes through model/forward.h operator by
// operator.
//
// No call may run beside another on one Engine, nor beside an update of the weights.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_ENGINE_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "gpu_trainer/engine/token_history.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/rope.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/tokenizer/tokenizer.h"

namespace whetstone {

struct SamplingSpec {
  int32_t max_new_tokens = 256;   // >= 1
  double temperature = 1;         // 0: greedy
  double top_p = 1;               // (0, 1]; 1: off
  int32_t top_k = 0;              // 0: off
  double min_p = 0;               // [0, 1]; 0: off (kernels/sample.h)
  PenaltySettings penalties;      // token_history.h
  std::vector<std::string> stop;  // a completion's text ends before the first of these
  std::vector<int32_t> stop_ids;  // tokens that end a completion, also with ignore_eos
  bool ignore_eos = false;
  // A sequence that has decoded for so long ends with the token it has just got; 0: no limit.
  double deadline_s = 0;
};

// All samples of one prompt.
struct PromptGroupSpec {
  int32_t problem = 0;
  std::vector<int32_t> ids;      // the prompt, at least one token
  std::vector<int32_t> samples;  // which to draw
};

// What a generation may hold at once. It changes no token where rows are independent or the run is
// deterministic, elsewhere rounding.
struct GenerateMemory {
  // Most memory for keys and values; 0: half of what is free when the generation begins, less
  // `reserved_bytes`: free memory that others will need (the state of an update still to come);
  // shared with so many `processes` that generate at the same time.
  int64_t kv_bytes_max = 0;
  int64_t reserved_bytes = 0;
  int32_t processes = 1;
  // Most sequences decoded together; 0: as many as there is memory for. More are never much slower:
  // a 135M model on two AVX-512 cores decoded 5 and 3 % more tokens a second with 64 and 128 of
  // them than with 32.
  int32_t sequences_max = 0;
};

struct GenerateSpec {
  uint64_t seed = 0;
  int64_t step = 0;
  SamplingSpec sampling;
  std::vector<PromptGroupSpec> groups;
  // Tokens that end a turn besides the config's eos ids (the chat format's); not with ignore_eos.
  std::vector<int32_t> end_ids;
  GenerateMemory memory;
  // A sequence's tokens are bit for bit the same whatever decodes beside it, on every device.
  bool deterministic = false;
};

struct Completion {
  enum class Finish { kStop, kLength, kDeadline };
  int32_t problem = 0;
  int32_t sample = 0;
  std::vector<int32_t> ids;  // sampled tokens, the end-of-sequence token included
  std::vector<float>
      logprobs;      // of each, under the distribution it was sampled from (kernels/sample.h)
  std::string text;  // without special tokens and without the stop string; valid UTF-8
  Finish finish = Finish::kLength;
};

struct GenerateStatus {
  int64_t tokens = 0;       // sampled so far
  int32_t completions = 0;  // ended so far
  int32_t active = 0;       // decoding now
  int64_t steps = 0;        // forward passes that decoded …
  int64_t graph_steps = 0;  // … of which replayed from a CUDA graph
  int64_t drafted = 0;      // tokens guessed ahead …
  int64_t accepted = 0;     // … and found right
};

// Called on the thread that called Generate. Empty functions are not called.
struct GenerateSink {
  std::function<void(Completion)> on_completion;
  std::function<void(const GenerateStatus&)> on_progress;  // after every token step
  std::function<bool()> cancelled;                         // asked before every token step
};

struct EngineOptions {
  // Guess tokens ahead where that pays. Changes no result, and is left out where it could: where a
  // row's bits depend on the rows beside it.
  bool prompt_lookup = true;
  // On a GPU, replay decoding steps from CUDA graphs. Changes no result.
  bool cuda_graphs = true;
  // Of deadlines, and of what a guessed token costs. Borrowed; null: a SteadyClock.
  const Clock* clock = nullptr;
};

// Rows of every decoding step of a deterministic run where their number changes a row's bits.
inline constexpr int64_t kDecodeRows = 32;

class Engine {
 public:
  // Borrows all three: they must outlive the engine. Weights may change between calls.
  Engine(const ModelConfig& config, const Weights& weights, const Tokenizer& tokenizer,
         const EngineOptions& options = {});

  // INVALID_ARGUMENT: an empty or too long prompt, a token id out of range, impossible sampling
  // settings. RESOURCE_EXHAUSTED: memory for keys and values does not hold one sequence. CANCELLED:
  // `cancelled` said so. INTERNAL: the logits were not finite.
  absl::Status Generate(const GenerateSpec& spec, const GenerateSink& sink);

  // Log-probability of every token after the first, at temperature 1. Logits exist for a few rows
  // at a time. INVALID_ARGUMENT: longer than the context, or a token id out of range.
  absl::StatusOr<std::vector<float>> Score(const std::vector<int32_t>& ids);

 private:
  void EnsureRope(int64_t positions);

  const ModelConfig& config_;
  const Weights& weights_;
  const Tokenizer& tokenizer_;
  EngineOptions options_;
  RopeTable rope_;  // grows with the longest sequence seen
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_ENGINE_H_
