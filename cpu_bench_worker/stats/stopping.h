// Decides whether enough process pairs have been seen. Pure functions of the timings, so that a
// test can replay them on recorded ones (timing/timing_replay_test.cc).
//
//   for (int pair = 1; pair <= kProcessPairs; ++pair) {
//     …
//     if (ClearAlready(ratios, seed) || BelowAlready(ratios, least, threshold, seed)) break;
//   }
//   const Score score = FinalScore(ratios, stopped_early, seed);
#ifndef WHETSTONE_CPU_BENCH_WORKER_STATS_STOPPING_H_
#define WHETSTONE_CPU_BENCH_WORKER_STATS_STOPPING_H_

#include <cstdint>
#include <vector>

#include "cpu_bench_worker/stats/statistics.h"

namespace whetstone {

inline constexpr int kPairsBeforeStop = 3;
// A speedup nearer to 1 than this is never judged early: telling it from equal code is what all the
// pairs are for.
inline constexpr double kClearLogMin = 0.1;
// The interval's half width, as a share of |ln speedup|, that is precise enough: a reward is a
// logarithm, and other candidates of the group differ by more.
inline constexpr double kClearPrecision = 0.125;

// What a measurement goes on for; each takes longer than the one before.
enum class StoppingCriterion {
  kClear,     // kProcessPairs, or what is enough to be clear
  kAllPairs,  // kProcessPairs, however clear
  kPrecise,   // kAllPairs, and where they scatter as many more as make the result precise (plan.h)
};

// The half width, as a logarithm, of the interval of 95 % of a precise result. (Having been looked
// at after every pair, it is a little too narrow; and what lasts longer than a measurement is no
// part of it, as no further pair would tell that: WithLongRun adds it to the verdict's.)
inline constexpr double kPreciseHalfWidth = 0.0075;

// True once more pairs would not change what is learned: the speedup is far from 1, and its
// interval is narrow beside that. Asked after every pair, so the interval is of 99.5 %: thirteen
// looks err together at most 13 × 0.5 % of the time (Bonferroni; more looks only until a neighbour
// has left, plan.h). And equal code would have to be off by eight intervals to be called anything
// else.
bool ClearAlready(const std::vector<PairedRatios>& sizes, uint64_t seed);

// True once more pairs would not make the speedup `least`: its interval of 99.5 %, widened by
// WithLongRun as a verdict's is, ends below that. Asked as ClearAlready is.
bool BelowAlready(const std::vector<PairedRatios>& sizes, double least, double threshold,
                  uint64_t seed);

// Whether the interval of 95 % is as narrow as kPreciseHalfWidth asks.
bool PreciseEnough(const std::vector<PairedRatios>& sizes, uint64_t seed);

// Whether `pairs` process pairs, with these ratios, are fewer than `criterion` asks for, on a core
// that is ours alone; that they may be clear already is left to ClearAlready.
bool PairsMissing(StoppingCriterion criterion, int pairs, const std::vector<PairedRatios>& sizes,
                  uint64_t seed);

// The score within the measurement: of 99.5 % where the timing was stopped early, else of 95 %. A
// verdict's interval is that WithLongRun.
Score FinalScore(const std::vector<PairedRatios>& sizes, bool stopped_early, uint64_t seed);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_STATS_STOPPING_H_
