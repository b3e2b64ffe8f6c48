// Controls repetition: which tokens a sequence has seen, and what that does to its next logits.
//
//   TokenHistory history(prompt);
//   history.Penalize(settings, logits);   // before every draw
//   history.Add(token.id);                // after it
//
// The repetition penalty (Keskar et al., CTRL, arXiv 1909.05858) is that of transformers: tokens of
// prompt and completion alike, a positive logit divided, a negative one multiplied. Presence and
// frequency penalties are those of OpenAI's interface: they are taken from the logits of sampled
// tokens only, once or once for each time. Not thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_SAMPLING_TOKEN_HISTORY_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_SAMPLING_TOKEN_HISTORY_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "gpu_trainer/engine/request/generate_spec.h"

namespace whetstone {

class TokenHistory {
 public:
  explicit TokenHistory(const std::vector<int32_t>& prompt) {
    for (const int32_t id : prompt) sampled_.try_emplace(id, 0);
  }
  void Add(int32_t id) { ++sampled_[id]; }

  // Changes logits[id] of every token seen. `logits` holds every id ever given.
  void Penalize(const PenaltySettings& settings, float* logits) const;

 private:
  std::unordered_map<int32_t, int32_t> sampled_;  // how often; 0: only in the prompt
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_SAMPLING_TOKEN_HISTORY_H_
