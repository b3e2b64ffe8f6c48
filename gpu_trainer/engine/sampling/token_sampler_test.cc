#include "gpu_trainer/engine/sampling/token_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "common/philox.h"

namespace whetstone {
namespace {

std::vector<float> Logits() {
  std::vector<float> logits;
  for (int i = 0; i < 50; ++i) logits.push_back(std::sin(static_cast<float>(i)));
  return logits;
}

// The random number of a token is that of its seed, step, group, sample and position, and of
// nothing else.
TEST(TokenSamplerTest, DrawsByTheTokensOwnNumber) {
  const std::vector<float> logits = Logits();
  const TokenSampler sampler(17, 3, {}, 50);
  for (int64_t position = 0; position < 20; ++position) {
    Philox rng(17, {3, 5, 2, static_cast<uint64_t>(position)});
    const SampledToken want = SampleToken(logits.data(), 50, {}, rng.Uniform());
    for (int again = 0; again < 2; ++again) {
      const SampledToken got = sampler.Draw(
          logits.data(), {.group_index = 5, .sample = 2, .position = position}, nullptr);
      EXPECT_EQ(got.id, want.id);
      EXPECT_EQ(got.logprob, want.logprob);
    }
  }
}

TEST(TokenSamplerTest, PenalizesWhatTheHistoryHoldsAndAddsTheToken) {
  SamplingSpec sampling;
  sampling.temperature = 0;
  sampling.penalties.presence = 10;
  const TokenSampler sampler(1, 0, sampling, 3);
  const std::vector<float> logits = {2, 3, 1};
  ASSERT_TRUE(sampler.UsesHistory());
  TokenHistory history({});
  EXPECT_EQ(sampler.Draw(logits.data(), {}, &history).id, 1);
  EXPECT_EQ(sampler.Draw(logits.data(), {}, &history).id, 0);
  EXPECT_EQ(sampler.Draw(logits.data(), {}, &history).id, 2);
  EXPECT_EQ(logits, (std::vector<float>{2, 3, 1}));
}

TEST(TokenSamplerTest, KnowsWhetherASoftmaxIsDrawnFromWhole) {
  const auto whole = [](auto change) {
    SamplingSpec sampling;
    change(&sampling);
    return TokenSampler(0, 0, sampling, 9).DrawsFromWholeSoftmax();
  };
  EXPECT_TRUE(whole([](SamplingSpec* s) { s->temperature = 0.3; }));
  EXPECT_FALSE(whole([](SamplingSpec* s) { s->top_p = 0.9; }));
  EXPECT_FALSE(whole([](SamplingSpec* s) { s->top_k = 5; }));
  EXPECT_FALSE(whole([](SamplingSpec* s) { s->min_p = 0.1; }));
  EXPECT_FALSE(whole([](SamplingSpec* s) { s->penalties.frequency = 0.1; }));
}

}  // namespace
}  // namespace whetstone
