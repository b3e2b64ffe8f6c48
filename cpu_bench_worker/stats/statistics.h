// The arithmetic behind a score: medians of paired ratios and an interval that knows process pairs.
#ifndef WHETSTONE_CPU_BENCH_WORKER_STATS_STATISTICS_H_
#define WHETSTONE_CPU_BENCH_WORKER_STATS_STATISTICS_H_

#include <cstdint>
#include <vector>

namespace whetstone {

// Returns 0 for an empty list. It takes a copy, because selecting reorders.
double Median(std::vector<double> values);
// The value below which the share `q` of `values` lies (nearest rank); 0 for an empty list.
double Quantile(std::vector<double> values, double q);

// Paired ratios of one size: ratios[p][r] is sample r of process pair p.
using PairedRatios = std::vector<std::vector<double>>;

struct Score {
  double speedup = 0;  // geometric mean over sizes of the median ratio
  double low = 0;      // confidence interval of that
  double high = 0;
  double error = 0;  // standard error of ln speedup
};

enum class Confidence { k95, k995 };  // 95 % and 99.5 %, both sides

// The geometric mean over the sizes of the median ratio; 0 without any. Sizes without a ratio are
// left out.
double SpeedupOf(const std::vector<PairedRatios>& sizes);

// Returns that and its interval. A process keeps its luck with placement (page colours, address
// space) for life, so its samples, at all sizes, aren't independent: the bootstrap draws whole
// process pairs, never samples. Few clusters make any bootstrap too sure of itself. So only its
// standard error is used, widened by √(n/(n−1)) and by Student's t of n−1 degrees of freedom
// (Davison and Hinkley 1997, §3.8; Hesterberg 2015, §5.3). A single pair counts as two and has its
// samples drawn instead; nothing better is known. `seed` makes it repeatable. No ratio at all gives
// zeros.
Score ScoreOf(const std::vector<PairedRatios>& sizes, uint64_t seed,
              Confidence confidence = Confidence::k95);

// The standard error of a result beside the long-run value, which a measurement of a second does
// not know. What is as fast as the reference has its luck, so that it is none near 1; the less
// alike both programs are, the more their ratio moves with the host's clock and neighbours. The
// threshold says how much these move (equal code's, or what LongRunThreshold makes of it): it is
// 0.5 × threshold × |ln speedup|, as was seen on two hosts (docs/measuring.md).
double LongRunError(double speedup, double threshold);

// Returns `score` with the interval that holds the long-run value as well. `error` stays that
// within the measurement.
Score WithLongRun(const Score& score, double threshold, Confidence confidence);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_STATS_STATISTICS_H_
