#include "cpu_bench_worker/stats/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>

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

// These are two-sided quantiles of Student's t for 1, 2, 3 … degrees of freedom; the last one
// serves for more.
constexpr double kT95[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                           2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
constexpr double kT995[] = {127.321, 14.089, 7.453, 5.598, 4.773, 4.317, 4.029,
                            3.833,   3.690,  3.581, 3.497, 3.428, 3.372, 3.326,
                            3.286,   3.252,  3.222, 3.197, 3.174, 3.153};

constexpr double kNormal95 = 1.960, kNormal995 = 2.807;
constexpr double kLongRunError = 0.5;

double StudentT(double degrees, Confidence confidence) {
  const auto& table = confidence == Confidence::k95 ? kT95 : kT995;
  const auto row = static_cast<size_t>(degrees) - 1;
  return table[std::min(row, std::size(table) - 1)];
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

namespace {

// SizeMedian holds ln of the median ratio of a size; sizes without a ratio are left out.
struct SizeMedian {
  const PairedRatios* ratios;
  double log;
};

std::vector<SizeMedian> SizeMedians(const std::vector<PairedRatios>& sizes) {
  std::vector<SizeMedian> medians;
  std::vector<double> all;
  for (const PairedRatios& ratios : sizes) {
    all.clear();
    for (const std::vector<double>& samples : ratios)
      all.insert(all.end(), samples.begin(), samples.end());
    if (!all.empty()) medians.push_back({&ratios, std::log(MedianInPlace(all))});
  }
  return medians;
}

double MeanLog(const std::vector<SizeMedian>& medians) {
  double sum = 0;
  for (const SizeMedian& median : medians) sum += median.log;
  return sum / static_cast<double>(medians.size());
}

}  // namespace

double SpeedupOf(const std::vector<PairedRatios>& sizes) {
  const std::vector<SizeMedian> medians = SizeMedians(sizes);
  return medians.empty() ? 0 : std::exp(MeanLog(medians));
}

Score ScoreOf(const std::vector<PairedRatios>& sizes, uint64_t seed, Confidence confidence) {
  Score score;
  const std::vector<SizeMedian> medians = SizeMedians(sizes);
  if (medians.empty()) return score;
  score.speedup = std::exp(MeanLog(medians));
  size_t pairs = 0;
  for (const PairedRatios& ratios : sizes) pairs = std::max(pairs, ratios.size());

  Philox rng(seed, {0xB007, 0, 0, 0});
  std::vector<size_t> drawn(pairs);
  std::vector<double> draw;
  std::vector<SizeMedian> resampled = medians;
  double sum = 0;
  double sum_squares = 0;
  for (int b = 0; b < kResamples; ++b) {
    for (size_t& pair : drawn) pair = rng.Below(pairs);
    for (size_t s = 0; s < medians.size(); ++s) {
      const PairedRatios& ratios = *medians[s].ratios;
      draw.clear();
      for (const size_t pair : drawn) {
        if (pair >= ratios.size()) continue;
        const std::vector<double>& samples = ratios[pair];
        if (pairs > 1)
          draw.insert(draw.end(), samples.begin(), samples.end());
        else
          for (size_t r = 0; r < samples.size(); ++r)
            draw.push_back(samples[rng.Below(samples.size())]);
      }
      resampled[s].log = draw.empty() ? medians[s].log : std::log(MedianInPlace(draw));
    }
    const double log = MeanLog(resampled);
    sum += log;
    sum_squares += log * log;
  }
  const double mean = sum / kResamples;
  const double variance = std::max(0.0, sum_squares / kResamples - mean * mean);
  const auto n = static_cast<double>(std::max<size_t>(2, pairs));
  score.error = std::sqrt(variance * n / (n - 1));
  const double half = StudentT(n - 1, confidence) * score.error;
  score.low = score.speedup * std::exp(-half);
  score.high = score.speedup * std::exp(half);
  return score;
}

double LongRunError(double speedup, double threshold) {
  return kLongRunError * threshold * std::abs(std::log(speedup));
}

Score WithLongRun(const Score& score, double threshold, Confidence confidence) {
  if (!(score.low > 0)) return score;
  const double added = (confidence == Confidence::k95 ? kNormal95 : kNormal995) *
                       LongRunError(score.speedup, threshold);
  Score wider = score;
  wider.low = score.speedup * std::exp(-std::hypot(std::log(score.speedup / score.low), added));
  wider.high = score.speedup * std::exp(std::hypot(std::log(score.high / score.speedup), added));
  return wider;
}

}  // namespace whetstone
