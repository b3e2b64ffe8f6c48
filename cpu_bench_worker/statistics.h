// The arithmetic behind a score: medians of paired ratios and a bootstrap interval.
#ifndef WHETSTONE_CPU_BENCH_WORKER_STATISTICS_H_
#define WHETSTONE_CPU_BENCH_WORKER_STATISTICS_H_

#include <cstdint>
#include <vector>

namespace whetstone {

// 0 for an empty list. Takes a copy: selecting reorders.
double Median(std::vector<double> values);
// The value below which the share `q` of `values` lies (nearest rank); 0 for an empty list.
double Quantile(std::vector<double> values, double q);

// Paired ratios of one size: ratios[p][r] is round r of process pair p.
using PairedRatios = std::vector<std::vector<double>>;

struct Score {
  double speedup = 0;  // geometric mean over sizes of the median ratio
  double low = 0;      // 95 % bootstrap interval of that
  double high = 0;
};

// Median over all pairs of each size, then the geometric mean over the sizes. The interval
// resamples process pairs first and rounds within them second: a process keeps its luck with
// placement for life, so its rounds aren't independent (Davison and Hinkley 1997, §3.8; Kalibera
// and Jones 2013). `seed` makes it repeatable. Sizes without any ratio are left out; none at all
// gives zeros.
Score ScoreOf(const std::vector<PairedRatios>& sizes, uint64_t seed);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_STATISTICS_H_
