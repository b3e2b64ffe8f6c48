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

Replay ReplayFrom(const RecordedTimings& recorded, size_t first, double factor,
                  StoppingCriterion criterion, uint64_t seed) {
  Replay replay;
  std::vector<PairedRatios> seen(recorded.sizes.size());
  const bool far =
      criterion == StoppingCriterion::kClear && std::max(factor, 1 / factor) >= kFarFactor;
  while (!replay.stopped_early && PairsMissing(criterion, replay.pairs, seen, seed)) {
    for (size_t s = 0; s < seen.size(); ++s) {
      const PairedRatios& all = recorded.sizes[s];
      seen[s].push_back(all[(first + static_cast<size_t>(replay.pairs)) % all.size()]);
      std::vector<double>& samples = seen[s].back();
      if (far) samples.resize(std::min<size_t>(samples.size(), kSamplesMaxFar));
      for (double& ratio : samples) ratio *= factor;
    }
    ++replay.pairs;
    replay.stopped_early = criterion == StoppingCriterion::kClear && replay.pairs < kProcessPairs &&
                           ClearAlready(seen, seed);
  }
  replay.score = FinalScore(seen, replay.stopped_early, seed);
  return replay;
}

}  // namespace

ReplayRates ReplayTimings(const RecordedTimings& recorded, double factor, double aa_threshold,
                          int trials, StoppingCriterion criterion) {
  ReplayRates rates;
  if (recorded.sizes.empty() || recorded.sizes[0].empty()) return rates;
  const double truth = recorded.truth * factor;
  const double one = 1.0 / trials;
  std::vector<double> errors;
  Philox rng(1, {0x57, 0x0B, 0, 0});
  for (int i = 0; i < trials; ++i) {
    const size_t first = rng.Below(recorded.sizes[0].size());
    const Replay replay = ReplayFrom(recorded, first, factor, criterion, rng.Next64());
    rates.called_faster += replay.score.low > 1 + aa_threshold ? one : 0;
    const bool covered = replay.score.low <= truth * (1 + aa_threshold) &&
                         truth <= replay.score.high * (1 + aa_threshold);
    rates.covered += covered ? one : 0;
    rates.stopped_early += replay.stopped_early ? one : 0;
    rates.pairs_mean += replay.pairs * one;
    errors.push_back(std::fabs(std::log(replay.score.speedup / truth)));
  }
  rates.error_95 = Quantile(errors, 0.95);
  return rates;
}

}  // namespace whetstone
