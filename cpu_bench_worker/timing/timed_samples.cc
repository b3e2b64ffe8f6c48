#include "cpu_bench_worker/timing/timed_samples.h"

#include <algorithm>
#include <map>
#include <set>

#include "cpu_bench_worker/stats/plan.h"

namespace whetstone {

double LongRunThreshold(double aa_threshold, bool counts_shared) {
  return counts_shared ? std::max(aa_threshold, kSharedDrift) : aa_threshold;
}

std::vector<int> TimedSamples::Pairs(bool alone) const {
  std::map<int, std::set<size_t>> sizes_of;
  for (const std::vector<TimedSample>& samples : by_size_)
    for (const TimedSample& sample : samples)
      if (!alone || !sample.shared) sizes_of[sample.pair].insert(sample.size);
  std::vector<int> pairs;
  for (const auto& [pair, sizes] : sizes_of)
    if (sizes.size() == by_size_.size()) pairs.push_back(pair);
  return pairs;
}

std::vector<std::vector<std::vector<TimedSample>>> TimedSamples::Counting() const {
  std::vector<int> pairs = Pairs(/*alone=*/true);
  const bool alone = static_cast<int>(pairs.size()) >= kAlonePairsMin;
  if (!alone) pairs = Pairs(/*alone=*/false);
  std::vector<std::vector<std::vector<TimedSample>>> counting(by_size_.size());
  for (size_t size = 0; size < by_size_.size(); ++size) {
    counting[size].resize(pairs.size());
    for (const TimedSample& sample : by_size_[size]) {
      const auto pair = std::lower_bound(pairs.begin(), pairs.end(), sample.pair);
      if (pair == pairs.end() || *pair != sample.pair || (alone && sample.shared)) continue;
      counting[size][static_cast<size_t>(pair - pairs.begin())].push_back(sample);
    }
  }
  return counting;
}

std::vector<PairedRatios> TimedSamples::Ratios() const {
  std::vector<PairedRatios> ratios;
  for (const auto& pairs : Counting()) {
    PairedRatios& of_size = ratios.emplace_back();
    for (const std::vector<TimedSample>& samples : pairs) {
      std::vector<double>& of_pair = of_size.emplace_back();
      for (const TimedSample& sample : samples) of_pair.push_back(sample.ratio());
    }
  }
  return ratios;
}

bool TimedSamples::CountsShared() const {
  for (const auto& pairs : Counting())
    for (const std::vector<TimedSample>& samples : pairs)
      for (const TimedSample& sample : samples)
        if (sample.shared) return true;
  return false;
}

TimedSize TimedSamples::Summary(size_t size) const {
  TimedSize summary;
  std::vector<double> ratios, reference_ns, candidate_ns;
  const auto counting = Counting();
  for (const std::vector<TimedSample>& of_pair : counting[size])
    for (const TimedSample& sample : of_pair) {
      ratios.push_back(sample.ratio());
      reference_ns.push_back(sample.reference_ns);
      candidate_ns.push_back(sample.candidate_ns);
      summary.samples_counted_shared += sample.shared ? 1 : 0;
    }
  for (const TimedSample& sample : by_size_[size])
    summary.samples_core_shared += sample.shared ? 1 : 0;
  summary.samples = static_cast<int>(ratios.size());
  summary.speedup = Median(std::move(ratios));
  summary.reference_ns = Median(std::move(reference_ns));
  summary.candidate_ns = Median(std::move(candidate_ns));
  return summary;
}

}  // namespace whetstone
