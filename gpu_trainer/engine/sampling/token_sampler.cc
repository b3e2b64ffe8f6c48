#include "gpu_trainer/engine/sampling/token_sampler.h"

#include <vector>

#include "common/philox.h"

namespace whetstone {

TokenSampler::TokenSampler(uint64_t seed, int64_t step, const SamplingSpec& sampling, int64_t vocab)
    : seed_(seed),
      step_(static_cast<uint64_t>(step)),
      settings_{sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p},
      penalties_(sampling.penalties),
      vocab_(vocab) {}

SampledToken TokenSampler::Draw(const float* logits, const TokenKey& key,
                                TokenHistory* history) const {
  Philox rng(seed_, {step_, static_cast<uint64_t>(key.group_index),
                     static_cast<uint64_t>(key.sample), static_cast<uint64_t>(key.position)});
  if (history == nullptr) return SampleToken(logits, vocab_, settings_, rng.Uniform());
  std::vector<float> penalized(logits, logits + vocab_);
  history->Penalize(penalties_, penalized.data());
  const SampledToken token = SampleToken(penalized.data(), vocab_, settings_, rng.Uniform());
  history->Add(token.id);
  return token;
}

bool TokenSampler::DrawsFromWholeSoftmax() const {
  return penalties_.off() && settings_.top_p >= 1 && settings_.top_k == 0 && settings_.min_p == 0;
}

}  // namespace whetstone
