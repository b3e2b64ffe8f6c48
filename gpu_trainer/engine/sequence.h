// One completion while it is being sampled: its tokens, its text, and when it ends.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_SEQUENCE_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_SEQUENCE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/engine/token_history.h"
#include "gpu_trainer/kernels/sample.h"
#include "gpu_trainer/tokenizer/tokenizer.h"

namespace whetstone {

// What ends a completion; the same for all of a Generate call. Borrows everything.
struct StopRules {
  const SamplingSpec& sampling;
  const Tokenizer& tokenizer;
  const Clock& clock;
  std::set<int32_t> stop_ids;
};

// Plain state, not thread-safe.
struct Sequence {
  size_t group = 0;  // index into GenerateSpec::groups
  int32_t slot = 0;
  int64_t tokens_max = 0;
  std::chrono::nanoseconds begin{0};    // when it was admitted
  std::optional<TokenHistory> history;  // where there is repetition control
  Completion result;
  std::string bytes;  // the text so far, which may end within a character

  // Takes a sampled token. True: the completion has ended, and `result` is whole.
  bool Take(const SampledToken& token, const StopRules& rules);
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_SEQUENCE_H_
