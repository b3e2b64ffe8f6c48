#include "gpu_trainer/kernels/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "common/philox.h"

namespace whetstone {
namespace {

// Returns the plain version's probabilities, in f64, of the distribution that should be sampled
// from.
std::vector<double> Reference(const std::vector<float>& logits, const SampleSettings& settings) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  size_t kept = logits.size();
  if (settings.top_k > 0) kept = std::min(kept, static_cast<size_t>(settings.top_k));
  std::vector<double> p(logits.size());
  double total = 0;
  for (size_t i = 0; i < kept; ++i) {
    total += p[order[i]] = std::exp(double{logits[order[i]]} / settings.temperature);
  }
  double before = 0, left = 0;
  for (size_t i = 0; i < kept; ++i) {
    const double least = settings.min_p * p[order[0]];
    if (before >= settings.top_p * total || p[order[i]] < least) p[order[i]] = 0;
    before += p[order[i]];
    left += p[order[i]];
  }
  for (double& x : p) x /= left;
  return p;
}

std::vector<float> Logits(size_t n, uint64_t seed, double spread) {
  Philox rng(seed, {0, 0, 0, 0});
  std::vector<float> logits(n);
  for (float& x : logits) x = static_cast<float>(rng.Normal() * spread);
  return logits;
}

TEST(SampleTest, FrequenciesAndLogprobsAreTheDistributions) {
  const std::vector<float> logits = Logits(40, 1, 1.5);
  const std::vector<SampleSettings> settings = {
      {},
      {.temperature = 0.5},
      {.temperature = 2, .top_k = 5},
      {.top_p = 0.7},
      {.temperature = 1.5, .top_k = 20, .top_p = 0.8},
      {.min_p = 0.1},
      {.temperature = 0.7, .top_k = 30, .top_p = 0.95, .min_p = 0.05},
      {.min_p = 1},
  };
  for (size_t s = 0; s < settings.size(); ++s) {
    const std::vector<double> p = Reference(logits, settings[s]);
    std::vector<int> counts(logits.size());
    const int n = 40000;
    for (int i = 0; i < n; ++i) {
      Philox rng(s, {1, 2, 3, static_cast<uint64_t>(i)});
      const SampledToken token = SampleToken(logits.data(), 40, settings[s], rng.Uniform());
      ++counts[static_cast<size_t>(token.id)];
      ASSERT_NEAR(token.logprob, std::log(p[static_cast<size_t>(token.id)]), 1e-5);
    }
    double chi = 0, rest_p = 0, rest_count = 0;
    int cells = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      if (p[i] * n < 5) {
        rest_p += p[i];
        rest_count += counts[i];
        EXPECT_TRUE(p[i] > 0 || counts[i] == 0) << "token " << i << " was cut off";
        continue;
      }
      chi += std::pow(counts[i] - p[i] * n, 2) / (p[i] * n);
      ++cells;
    }
    if (rest_p * n >= 5) chi += std::pow(rest_count - rest_p * n, 2) / (rest_p * n), ++cells;
    if (cells > 1) {
      EXPECT_LT((chi - (cells - 1)) / std::sqrt(2.0 * (cells - 1)), 4.5) << "settings " << s;
    }
  }
}

TEST(SampleTest, LargeVocabularyEdges) {
  const int64_t vocab = 151936;
  const std::vector<float> logits = Logits(static_cast<size_t>(vocab), 2, 2);
  const SampledToken first = SampleToken(logits.data(), vocab, {}, 0.0);
  EXPECT_EQ(first.id, 0);
  const SampledToken last = SampleToken(logits.data(), vocab, {}, std::nextafter(1.0, 0.0));
  EXPECT_GT(last.id, vocab - 3000);
  // The recorded value equals log-softmax, computed in f64.
  const double most = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float x : logits) total += std::exp(x - most);
  for (const SampledToken& token : {first, last}) {
    EXPECT_NEAR(token.logprob, logits[static_cast<size_t>(token.id)] - most - std::log(total),
                1e-5);
    EXPECT_EQ(token.logprob, TokenLogprob(logits.data(), vocab, token.id));
  }
  // Top-p needs more than the few likeliest tokens here.
  const SampleSettings most_of_it = {.top_p = 0.99};
  const std::vector<double> p = Reference(logits, most_of_it);
  for (uint64_t i = 0; i < 20; ++i) {
    Philox rng(i, {0, 0, 0, 0});
    const SampledToken token = SampleToken(logits.data(), vocab, most_of_it, rng.Uniform());
    EXPECT_NEAR(token.logprob, std::log(p[static_cast<size_t>(token.id)]), 1e-5);
  }
}

TEST(SampleTest, GreedyTakesTheFirstOfTheLikeliest) {
  const std::vector<float> logits = {0, 3, 3, 1};
  const SampledToken token = SampleToken(logits.data(), 4, {.temperature = 0}, 0.9);
  EXPECT_EQ(token.id, 1);
  EXPECT_NEAR(token.logprob, 3 - std::log(1 + 2 * std::exp(3.0) + std::exp(1.0)), 1e-6);
  EXPECT_EQ(SampleToken(logits.data(), 4, {.top_k = 1}, 0.99).id, 1);
  EXPECT_EQ(SampleToken(logits.data(), 4, {.top_k = 1}, 0.99).logprob, 0);
}

TEST(SampleTest, DamagedLogitsAreNotHidden) {
  const std::vector<float> logits = {0, NAN, 1};
  for (const SampleSettings& settings :
       {SampleSettings{}, {.top_k = 2}, {.top_p = 0.9}, {.min_p = 0.1}, {.temperature = 0}}) {
    EXPECT_FALSE(std::isfinite(SampleToken(logits.data(), 3, settings, 0.5).logprob));
  }
}

}  // namespace
}  // namespace whetstone
