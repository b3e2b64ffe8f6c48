// A Sequence is one completion while it is being sampled: its tokens, its text, and when it ends.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_SCHEDULE_SEQUENCE_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_SCHEDULE_SEQUENCE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "gpu_trainer/engine/request/generate_spec.h"
#include "gpu_trainer/engine/sampling/token_history.h"
#include "gpu_trainer/kernels/sample.h"
#include "gpu_trainer/tokenizer/tokenizer.h"

namespace whetstone {

// StopRules end a completion, the same for all of a Generate call. Everything is borrowed.
struct StopRules {
  const SamplingSpec& sampling;
  const Tokenizer& tokenizer;
  const Clock& clock;
  std::set<int32_t> stop_ids;
};

// Returns the most tokens that a sample of `group` may get: what was asked for, or what is left of
// the model's `context` behind the prompt.
int64_t TokensMax(const SamplingSpec& sampling, const PromptGroupSpec& group, int64_t context);

// It is plain state, not thread-safe.
struct Sequence {
  size_t group = 0;  // index into GenerateSpec::groups
  int32_t slot = 0;
  int64_t tokens_max = 0;
  std::chrono::nanoseconds begin{0};    // when it was admitted
  std::optional<TokenHistory> history;  // where there is repetition control
  Completion result;
  std::string bytes;   // the text so far, which may end within a character
  bool ended = false;  // `result` is whole

  // Takes a sampled token, which may end it.
  void Take(const SampledToken& token, const StopRules& rules);
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_SCHEDULE_SEQUENCE_H_
