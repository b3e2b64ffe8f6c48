#include "cpu_bench_worker/stopping.h"

#include <algorithm>
#include <cmath>

namespace whetstone {

bool ClearAlready(const std::vector<PairedRatios>& sizes, uint64_t seed) {
  size_t pairs = 0;
  for (const PairedRatios& ratios : sizes) pairs = std::max(pairs, ratios.size());
  const double speedup = SpeedupOf(sizes);
  if (pairs < kPairsBeforeStop || !(speedup > 0)) return false;
  const double distance = std::fabs(std::log(speedup));
  if (distance < kClearLogMin) return false;
  const Score score = FinalScore(sizes, /*stopped_early=*/true, seed);
  return std::log(score.high / score.low) / 2 <= kClearPrecision * distance;
}

bool PreciseEnough(const std::vector<PairedRatios>& sizes, uint64_t seed) {
  const Score score = FinalScore(sizes, /*stopped_early=*/false, seed);
  return score.speedup > 0 && std::log(score.high / score.low) / 2 <= kPreciseHalfWidth;
}

Score FinalScore(const std::vector<PairedRatios>& sizes, bool stopped_early, uint64_t seed) {
  return ScoreOf(sizes, seed, stopped_early ? Confidence::k995 : Confidence::k95);
}

}  // namespace whetstone
