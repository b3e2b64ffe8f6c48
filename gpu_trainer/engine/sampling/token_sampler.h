// Says which token comes next: logits, repetition control and a random number of the token's own
// become a token and its log-probability.
//
//   const TokenSampler sampler(spec.seed, spec.step, spec.sampling, config.vocab);
//   const SampledToken token = sampler.Draw(logits, {.group_index = 3, .sample = 1, .position = 0},
//                                           &history);
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_SAMPLING_TOKEN_SAMPLER_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_SAMPLING_TOKEN_SAMPLER_H_

#include <cstdint>

#include "gpu_trainer/engine/request/generate_spec.h"
#include "gpu_trainer/engine/sampling/token_history.h"
#include "gpu_trainer/kernels/sample.h"

namespace whetstone {

// TokenKey says which token of a step it is. With the seed and the step it names the random number
// that decides.
struct TokenKey {
  int32_t group_index = 0;
  int32_t sample = 0;
  int64_t position = 0;  // from 0 after the prompt
};

// Constant after construction; thread-safe.
class TokenSampler {
 public:
  // `vocab` is the number of logits.
  TokenSampler(uint64_t seed, int64_t step, const SamplingSpec& sampling, int64_t vocab);

  // logits [vocab] f32. `history` is what the token's sequence has seen, which the token joins;
  // null: there is no repetition control (UsesHistory).
  SampledToken Draw(const float* logits, const TokenKey& key, TokenHistory* history) const;

  bool UsesHistory() const { return !penalties_.off(); }

  // Tells whether a token is drawn from the softmax of its logits as it is, at a temperature:
  // neither penalised nor truncated, so that a GPU can draw it (kernels/cuda/cuda_kernels.h).
  bool DrawsFromWholeSoftmax() const;

 private:
  const uint64_t seed_, step_;
  const SampleSettings settings_;
  const PenaltySettings penalties_;
  const int64_t vocab_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_SAMPLING_TOKEN_SAMPLER_H_
