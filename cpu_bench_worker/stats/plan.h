// How much to measure: calls per bell and rounds per process pair.
#ifndef WHETSTONE_CPU_BENCH_WORKER_STATS_PLAN_H_
#define WHETSTONE_CPU_BENCH_WORKER_STATS_PLAN_H_

#include <cstdint>
#include <vector>

namespace whetstone {

// Many process pairs matter more than many rounds: each pair has its own luck with placement (1–4
// %), and only the median over many is steady.
inline constexpr int kProcessPairs = 16;
inline constexpr int kRoundsMax = 8;
inline constexpr int kRoundsMin = 2;
// … of a candidate that is far from the reference and may be stopped early.
inline constexpr int kRoundsMaxFar = 3;
inline constexpr double kFarFactor = 2;
// A bell's work lasts at least this long, so that waking a child (3–6 µs, from its own core) and
// its jitter stay small beside it.
inline constexpr double kBatchNsMin = 100'000;
// … and this long for a candidate that is far from the reference and may be stopped early: beside
// the logarithm of its speedup, which is what is rewarded, the jitter is small again.
inline constexpr double kBatchNsMinFar = 50'000;
// Several threads are woken from another core, in 20–37 µs: so many times as long.
inline constexpr double kBatchThreaded = 3;
// … but a candidate far faster than the reference doesn't make the reference's turn longer than
// this.
inline constexpr double kReferenceBatchNsMax = 3'000'000;
// Disturbed rounds of one size that are thrown away before the rest is taken as it comes.
inline constexpr int kRedoneMax = 40;
// Rounds during which something else ran on the same physical core are unlike the others. A pair
// with some of both goes on until it has as many alone as there are to be, or so many times as many
// in all.
inline constexpr int kRoundsStretched = 2;
// Where at least so many pairs had rounds alone, only those rounds count; else all. A measurement
// that has not as many is not stopped early.
inline constexpr int kAlonePairsMin = 3;
// Where fewer than this had, there are more pairs; but not on a core that has been alone less often
// than this share of the time, of late.
inline constexpr int kAlonePairsWanted = 8;
inline constexpr double kAloneShareMin = 0.2;
// With more for that, or to be precise (stopping.h), at most so many.
inline constexpr int kProcessPairsMax = 40;
// However generous limits.total_s is: fewer rounds instead of longer ones.
inline constexpr double kTimeBudgetSeconds = 8;
inline constexpr int kCallsMax = 1024;
inline constexpr int64_t kBatchBytesMax = int64_t{32} << 20;

// Shortest time seen of one call, waking included, for one size.
struct CallEstimate {
  double reference_ns = 0;
  double candidate_ns = 0;
};

// Calls per bell of at least `batch_ns` at a size whose calls take `estimate` (with a `floor_ns` of
// waking in it) and touch `bytes_per_call`.
int CallsPerBell(const CallEstimate& estimate, double floor_ns, int64_t bytes_per_call,
                 double batch_ns);

// Rounds per process pair, at most `rounds_max`, so that kProcessPairs of `round_ns` (all sizes,
// both members, filling and checking) fit into `budget_ns`.
int RoundsPerPair(double round_ns, double budget_ns, int rounds_max);

// Whether the candidate is kFarFactor times as fast as the reference, or as slow, at every size.
bool FarApart(const std::vector<CallEstimate>& estimates);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_STATS_PLAN_H_
