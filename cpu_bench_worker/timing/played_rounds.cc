#include "cpu_bench_worker/timing/played_rounds.h"

#include <algorithm>
#include <map>
#include <set>

#include "cpu_bench_worker/stats/plan.h"

namespace whetstone {

std::vector<int> PlayedRounds::Pairs(bool alone) const {
  std::map<int, std::set<size_t>> sizes_of;
  for (const std::vector<PlayedRound>& rounds : by_size_)
    for (const PlayedRound& round : rounds)
      if (!alone || !round.shared) sizes_of[round.pair].insert(round.size);
  std::vector<int> pairs;
  for (const auto& [pair, sizes] : sizes_of)
    if (sizes.size() == by_size_.size()) pairs.push_back(pair);
  return pairs;
}

int PlayedRounds::SharedRounds(size_t size) const {
  const std::vector<PlayedRound>& rounds = by_size_[size];
  return static_cast<int>(std::count_if(rounds.begin(), rounds.end(),
                                        [](const PlayedRound& round) { return round.shared; }));
}

std::vector<std::vector<std::vector<PlayedRound>>> PlayedRounds::Counting() const {
  std::vector<int> pairs = Pairs(/*alone=*/true);
  const bool alone = static_cast<int>(pairs.size()) >= kAlonePairsMin;
  if (!alone) pairs = Pairs(/*alone=*/false);
  std::vector<std::vector<std::vector<PlayedRound>>> counting(by_size_.size());
  for (size_t size = 0; size < by_size_.size(); ++size) {
    counting[size].resize(pairs.size());
    for (const PlayedRound& round : by_size_[size]) {
      const auto pair = std::lower_bound(pairs.begin(), pairs.end(), round.pair);
      if (pair == pairs.end() || *pair != round.pair || (alone && round.shared)) continue;
      counting[size][static_cast<size_t>(pair - pairs.begin())].push_back(round);
    }
  }
  return counting;
}

std::vector<PairedRatios> PlayedRounds::Ratios() const {
  std::vector<PairedRatios> ratios;
  for (const auto& pairs : Counting()) {
    PairedRatios& of_size = ratios.emplace_back();
    for (const std::vector<PlayedRound>& rounds : pairs) {
      std::vector<double>& of_pair = of_size.emplace_back();
      for (const PlayedRound& round : rounds) of_pair.push_back(round.ratio());
    }
  }
  return ratios;
}

}  // namespace whetstone
