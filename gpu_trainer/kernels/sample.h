// Draws one token from logits and says how likely it was.
//
//   SampledToken token = SampleToken(logits, vocab, {.temperature = 0.8, .top_p = 0.95}, u);
//
// The order is that of transformers: temperature, then top-k, top-p and min-p (Nguyen et al., arXiv
// 2407.01082). The log-probability is that of the distribution really sampled from: log-softmax
// over the tokens that were left, after temperature. With temperature 0 the likeliest token is
// taken (the lowest id among equals) and its log-probability is that of the untruncated softmax at
// temperature 1.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_SAMPLE_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_SAMPLE_H_

#include <cstdint>

namespace whetstone {

struct SampleSettings {
  double temperature = 1;  // >= 0
  int32_t top_k = 0;       // 0: off
  double top_p = 1;        // in (0, 1]; 1: off
  double min_p = 0;  // in [0, 1]: tokens less likely than this share of the likeliest go; 0: off
};

struct SampledToken {
  int32_t id = 0;
  float logprob = 0;  // natural logarithm
};

// logits [vocab] f32 are finite. `uniform` in [0, 1) decides. It is a pure function, thread-safe.
SampledToken SampleToken(const float* logits, int64_t vocab, const SampleSettings& settings,
                         double uniform);

// Returns log-softmax(logits)[id] without truncation.
float TokenLogprob(const float* logits, int64_t vocab, int32_t id, double temperature = 1);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_SAMPLE_H_
