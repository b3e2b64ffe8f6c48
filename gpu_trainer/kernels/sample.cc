#include "gpu_trainer/kernels/sample.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gpu_trainer/kernels/cpu/elementwise_cpu.h"

namespace whetstone {
namespace {

// Untruncated sampling sums the vocabulary in blocks of this many tokens, finds the block the
// draw falls into, and looks at single tokens only there.
constexpr int64_t kVocabBlockTokens = 1024;

struct Candidate {
  float logit;
  int32_t id;
};

// Likelier tokens come first and, among equals, the lower id, so that the order is the same
// everywhere.
bool Likelier(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

SampledToken SampleWhole(const float* logits, int64_t vocab, float scale, double uniform) {
  const float most = MaxOf(logits, vocab);
  thread_local std::vector<double> blocks;
  blocks.clear();
  double total = 0;
  for (int64_t i = 0; i < vocab; i += kVocabBlockTokens) {
    blocks.push_back(SumExp(logits + i, std::min(kVocabBlockTokens, vocab - i), most, scale));
    total += blocks.back();
  }
  double left = uniform * total;
  size_t s = 0;
  while (s + 1 < blocks.size() && left >= blocks[s]) left -= blocks[s++];
  const int64_t begin = static_cast<int64_t>(s) * kVocabBlockTokens;
  const int64_t end = std::min(vocab, begin + kVocabBlockTokens);
  // Rounding may leave a draw just past the last token: then the last one with a chance is it.
  int64_t id = -1;
  for (int64_t i = begin; i < end; ++i) {
    const double p = std::exp(static_cast<double>((logits[i] - most) * scale));
    if (p > 0) id = i;
    left -= p;
    if (left < 0 && p > 0) break;
  }
  if (id < 0) id = std::max_element(logits, logits + vocab) - logits;
  const double logprob = static_cast<double>(logits[id] - most) * scale - std::log(total);
  return {static_cast<int32_t>(id), static_cast<float>(logprob)};
}

// Returns the `count` likeliest of the tokens whose logit is at least `least`, likeliest first. A
// NaN, which has no order, is returned alone.
std::vector<Candidate> Likeliest(const float* logits, int64_t vocab, int64_t count, float least) {
  std::vector<Candidate> all;
  for (int64_t i = 0; i < vocab; ++i) {
    if (std::isnan(logits[i])) return {{logits[i], static_cast<int32_t>(i)}};
    if (logits[i] >= least) all.push_back({logits[i], static_cast<int32_t>(i)});
  }
  const int64_t left = static_cast<int64_t>(all.size());
  const auto end = all.begin() + std::min(count, left);
  if (count < left) std::nth_element(all.begin(), end, all.end(), Likelier);
  std::sort(all.begin(), end, Likelier);
  all.erase(end, all.end());
  return all;
}

double Weight(const Candidate& candidate, float most, float scale) {
  return std::exp(static_cast<double>((candidate.logit - most) * scale));
}

// Returns the tokens left by top-k and top-p, likeliest first: the shortest run of likeliest tokens
// whose mass reaches top_p of what top-k left. Both cuts, and min-p's, leave a run of likeliest
// tokens, so where top-p, which needs the whole mass, is off, tokens below min-p's `least` need no
// sorting.
std::vector<Candidate> Nucleus(const float* logits, int64_t vocab, const SampleSettings& settings,
                               float most, float scale, float least) {
  const int64_t k = settings.top_k > 0 ? std::min<int64_t>(settings.top_k, vocab) : vocab;
  if (settings.top_p >= 1) return Likeliest(logits, vocab, k, least);
  const bool all = k == vocab;
  double total = all ? SumExp(logits, vocab, most, scale) : 0;
  // Usually a few tokens hold the mass, so more are sorted only when they do not.
  for (int64_t count = all ? std::min<int64_t>(k, 256) : k;; count = std::min(k, count * 16)) {
    std::vector<Candidate> top = Likeliest(logits, vocab, count, -INFINITY);
    if (!all) {
      for (const Candidate& c : top) total += Weight(c, most, scale);
    }
    double mass = 0;
    for (size_t i = 0; i < top.size(); ++i) {
      mass += Weight(top[i], most, scale);
      if (mass >= settings.top_p * total) {
        top.resize(i + 1);
        return top;
      }
    }
    if (count == k) return top;
  }
}

std::vector<Candidate> Truncate(const float* logits, int64_t vocab, const SampleSettings& settings,
                                float most, float scale) {
  // The least logit is p >= min_p * p_max in logits.
  const float least =
      settings.min_p > 0 ? most + static_cast<float>(std::log(settings.min_p)) / scale : -INFINITY;
  std::vector<Candidate> left = Nucleus(logits, vocab, settings, most, scale, least);
  while (left.size() > 1 && left.back().logit < least) left.pop_back();
  return left;
}

}  // namespace

SampledToken SampleToken(const float* logits, int64_t vocab, const SampleSettings& settings,
                         double uniform) {
  if (settings.temperature <= 0) {
    const int32_t id = static_cast<int32_t>(std::max_element(logits, logits + vocab) - logits);
    return {id, TokenLogprob(logits, vocab, id)};
  }
  const float scale = static_cast<float>(1.0 / settings.temperature);
  const bool truncated =
      settings.top_p < 1 || settings.min_p > 0 || (settings.top_k > 0 && settings.top_k < vocab);
  if (!truncated) return SampleWhole(logits, vocab, scale, uniform);

  const float most = MaxOf(logits, vocab);
  const std::vector<Candidate> left = Truncate(logits, vocab, settings, most, scale);
  double total = 0;
  for (const Candidate& c : left) total += Weight(c, most, scale);
  double draw = uniform * total;
  size_t i = 0;
  while (i + 1 < left.size() && draw >= Weight(left[i], most, scale)) {
    draw -= Weight(left[i++], most, scale);
  }
  const double logprob = static_cast<double>(left[i].logit - most) * scale - std::log(total);
  return {left[i].id, static_cast<float>(logprob)};
}

float TokenLogprob(const float* logits, int64_t vocab, int32_t id, double temperature) {
  const float scale = static_cast<float>(1.0 / temperature);
  const float most = MaxOf(logits, vocab);
  // The additions are those of sampling, so that scoring a sampled token gives the same bits.
  double total = 0;
  for (int64_t i = 0; i < vocab; i += kVocabBlockTokens) {
    total += SumExp(logits + i, std::min(kVocabBlockTokens, vocab - i), most, scale);
  }
  return static_cast<float>(static_cast<double>(logits[id] - most) * scale - std::log(total));
}

}  // namespace whetstone
