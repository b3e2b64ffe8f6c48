// Says what a generation is asked for, and what it hands back: plain values, without a tensor.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_REQUEST_GENERATE_SPEC_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_REQUEST_GENERATE_SPEC_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace whetstone {

// These settings control repetition; sampling/token_history.h says what each does.
struct PenaltySettings {
  double repetition = 1;  // > 0; 1: off; above 1 makes repeating less likely
  double presence = 0;    // 0: off
  double frequency = 0;   // 0: off

  bool off() const { return repetition == 1 && presence == 0 && frequency == 0; }
};

struct SamplingSpec {
  int32_t max_new_tokens = 256;  // >= 1
  double temperature = 1;        // 0: greedy
  double top_p = 1;              // (0, 1]; 1: off
  int32_t top_k = 0;             // 0: off
  double min_p = 0;              // [0, 1]; 0: off (kernels/sample.h)
  PenaltySettings penalties;
  std::vector<std::string> stop;  // a completion's text ends before the first of these
  std::vector<int32_t> stop_ids;  // tokens that end a completion, also with ignore_eos
  bool ignore_eos = false;
  // A sequence that has decoded for so long ends with the token it has just got; 0: no limit.
  double deadline_s = 0;
};

// A PromptGroupSpec asks for all samples of one prompt.
struct PromptGroupSpec {
  int32_t group_index = 0;
  std::vector<int32_t> ids;      // the prompt, at least one token
  std::vector<int32_t> samples;  // which to draw
};

// GenerateMemory limits what a generation holds at once. This changes no token where the kernels
// are batch-invariant or the run is deterministic, elsewhere rounding.
struct GenerateMemory {
  // The most memory for keys and values; 0: half of what is free when the generation begins, less
  // `reserved_bytes`: free memory that others will need (the state of an update still to come);
  // shared with so many `processes` that generate at the same time.
  int64_t kv_bytes_max = 0;
  int64_t reserved_bytes = 0;
  int32_t processes = 1;
  // The most sequences decoded together; 0: as many as there is memory for. More are never much
  // slower: a 135M model on two AVX-512 cores decoded 5 and 3 % more tokens a second with 64 and
  // 128 of them than with 32.
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
  int32_t group_index = 0;
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

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_REQUEST_GENERATE_SPEC_H_
