#include "cpu_bench_worker/statistics.h"

#include <algorithm>
#include <cmath>

#include "common/philox.h"

namespace whetstone {
namespace {

constexpr int kResamples = 400;

double MedianInPlace(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

double Median(std::vector<double> values) { return MedianInPlace(values); }

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const double rank = std::ceil(q * static_cast<double>(values.size())) - 1;
  const auto index =
      static_cast<std::ptrdiff_t>(std::clamp(rank, 0.0, static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<size_t>(index)];
}

Score ScoreOf(const std::vector<PairedRatios>& sizes, uint64_t seed) {
  std::vector<std::vector<const std::vector<double>*>> clusters;  // per size, those with rounds
  Score score;
  double log_sum = 0;
  for (const PairedRatios& ratios : sizes) {
    std::vector<double> all;
    std::vector<const std::vector<double>*> used;
    for (const std::vector<double>& rounds : ratios) {
      if (rounds.empty()) continue;
      used.push_back(&rounds);
      all.insert(all.end(), rounds.begin(), rounds.end());
    }
    if (used.empty()) continue;
    log_sum += std::log(MedianInPlace(all));
    clusters.push_back(std::move(used));
  }
  if (clusters.empty()) return score;
  const auto count = static_cast<double>(clusters.size());
  score.speedup = std::exp(log_sum / count);

  Philox rng(seed, {0xB007, 0, 0, 0});
  std::vector<double> resampled;
  std::vector<double> draw;
  for (int b = 0; b < kResamples; ++b) {
    double sum = 0;
    for (const auto& used : clusters) {
      draw.clear();
      for (size_t p = 0; p < used.size(); ++p) {
        const std::vector<double>& rounds = *used[rng.Below(used.size())];
        for (size_t r = 0; r < rounds.size(); ++r) draw.push_back(rounds[rng.Below(rounds.size())]);
      }
      sum += std::log(MedianInPlace(draw));
    }
    resampled.push_back(std::exp(sum / count));
  }
  score.low = std::min(score.speedup, Quantile(resampled, 0.025));
  score.high = std::max(score.speedup, Quantile(resampled, 0.975));
  return score;
}

}  // namespace whetstone
