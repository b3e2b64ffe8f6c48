#include "cpu_bench_worker/timing/timing_replay.h"

#include <algorithm>
#include <cmath>

#include "common/philox.h"
#include "cpu_bench_worker/stats/plan.h"

namespace whetstone {
namespace {

struct Replay {
  Score score;
  bool stopped_early = false;
  int pairs = 0;
};

Replay ReplayFrom(const RecordedTimings& recorded, size_t first, double factor, Until until,
                  uint64_t seed) {
  Replay trial;
  std::vector<PairedRatios> seen(recorded.sizes.size());
  const bool far = until == Until::kClear && std::max(factor, 1 / factor) >= kFarFactor;
  while (!trial.stopped_early && PairsMissing(until, trial.pairs, seen, seed)) {
    for (size_t s = 0; s < seen.size(); ++s) {
      const PairedRatios& all = recorded.sizes[s];
      seen[s].push_back(all[(first + static_cast<size_t>(trial.pairs)) % all.size()]);
      std::vector<double>& rounds = seen[s].back();
      if (far) rounds.resize(std::min<size_t>(rounds.size(), kRoundsMaxFar));
      for (double& ratio : rounds) ratio *= factor;
    }
    ++trial.pairs;
    trial.stopped_early =
        until == Until::kClear && trial.pairs < kProcessPairs && ClearAlready(seen, seed);
  }
  trial.score = FinalScore(seen, trial.stopped_early, seed);
  return trial;
}

}  // namespace

ReplayRates ReplayTimings(const RecordedTimings& recorded, double factor, double noise_band,
                          int trials, Until until) {
  ReplayRates rates;
  if (recorded.sizes.empty() || recorded.sizes[0].empty()) return rates;
  const double truth = recorded.truth * factor;
  const double one = 1.0 / trials;
  std::vector<double> errors;
  Philox rng(1, {0x57, 0x0B, 0, 0});
  for (int i = 0; i < trials; ++i) {
    const size_t first = rng.Below(recorded.sizes[0].size());
    const Replay trial = ReplayFrom(recorded, first, factor, until, rng.Next64());
    rates.called_faster += trial.score.low > 1 + noise_band ? one : 0;
    const bool covered =
        trial.score.low <= truth * (1 + noise_band) && truth <= trial.score.high * (1 + noise_band);
    rates.covered += covered ? one : 0;
    rates.stopped_early += trial.stopped_early ? one : 0;
    rates.pairs_mean += trial.pairs * one;
    errors.push_back(std::fabs(std::log(trial.score.speedup / truth)));
  }
  rates.error_95 = Quantile(errors, 0.95);
  return rates;
}

}  // namespace whetstone
