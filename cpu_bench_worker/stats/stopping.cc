#include "cpu_bench_worker/stats/stopping.h"

#include <algorithm>
#include <cmath>

#include "cpu_bench_worker/stats/plan.h"

namespace whetstone {
namespace {

// Returns half the width of the interval, as a logarithm.
double HalfWidth(const Score& score) { return std::log(score.high / score.low) / 2; }

size_t Pairs(const std::vector<PairedRatios>& sizes) {
  size_t pairs = 0;
  for (const PairedRatios& ratios : sizes) pairs = std::max(pairs, ratios.size());
  return pairs;
}

}  // namespace

bool ClearAlready(const std::vector<PairedRatios>& sizes, uint64_t seed) {
  const double speedup = SpeedupOf(sizes);
  if (Pairs(sizes) < kPairsBeforeStop || !(speedup > 0)) return false;
  const double distance = std::fabs(std::log(speedup));
  if (distance < kClearLogMin) return false;
  const Score score = FinalScore(sizes, /*stopped_early=*/true, seed);
  return HalfWidth(score) <= kClearPrecision * distance;
}

bool BelowAlready(const std::vector<PairedRatios>& sizes, double least, double threshold,
                  uint64_t seed) {
  const double speedup = SpeedupOf(sizes);
  if (Pairs(sizes) < kPairsBeforeStop || !(speedup > 0) || speedup >= least) return false;
  const Score score = FinalScore(sizes, /*stopped_early=*/true, seed);
  return WithLongRun(score, threshold, Confidence::k995).high < least;
}

bool PreciseEnough(const std::vector<PairedRatios>& sizes, uint64_t seed) {
  const Score score = FinalScore(sizes, /*stopped_early=*/false, seed);
  return score.speedup > 0 && HalfWidth(score) <= kPreciseHalfWidth;
}

bool PairsMissing(StoppingCriterion criterion, int pairs, const std::vector<PairedRatios>& sizes,
                  uint64_t seed) {
  if (pairs < kProcessPairs) return true;
  return criterion == StoppingCriterion::kPrecise && pairs < kProcessPairsMax &&
         !PreciseEnough(sizes, seed);
}

Score FinalScore(const std::vector<PairedRatios>& sizes, bool stopped_early, uint64_t seed) {
  return ScoreOf(sizes, seed, stopped_early ? Confidence::k995 : Confidence::k95);
}

}  // namespace whetstone
