// How much to measure: calls per request and samples per process pair.
#ifndef WHETSTONE_CPU_BENCH_WORKER_STATS_PLAN_H_
#define WHETSTONE_CPU_BENCH_WORKER_STATS_PLAN_H_

#include <cstdint>
#include <vector>

namespace whetstone {

// Many process pairs matter more than many samples: each pair has its own luck with placement (1–4
// %), and only the median over many is steady.
inline constexpr int kProcessPairs = 16;
// The samples of one pair at one size.
inline constexpr int kSamplesMax = 8;
inline constexpr int kSamplesMin = 2;
// A candidate is far from the reference if it is this many times as fast, or as slow. It may be
// stopped early, and a pair of it has fewer samples.
inline constexpr double kFarFactor = 2;
inline constexpr int kSamplesMaxFar = 3;

// A request's work lasts at least this long, so that waking a child (3–6 µs, from its own core) and
// its jitter stay small beside it.
inline constexpr double kBatchNsMin = 100'000;
// The same for a candidate that is far from the reference: beside the logarithm of its speedup,
// which is what is rewarded, the jitter is small again.
inline constexpr double kBatchNsMinFar = 50'000;
// Several threads are woken from another core, in 20–37 µs; their work lasts so many times as long.
inline constexpr double kBatchThreaded = 3;
// A candidate far faster than the reference doesn't make the reference's invocation longer than
// this.
inline constexpr double kReferenceBatchNsMax = 3'000'000;

// The disturbed samples of one size that are thrown away before the rest is taken as it comes.
inline constexpr int kRedoneMax = 40;
// Samples during which something else ran on the same physical core are unlike the others. A pair
// with some of both goes on until it has as many alone as there are to be, or so many times as many
// in all.
inline constexpr int kSamplesStretched = 2;
// If at least so many pairs had samples alone, only those samples count; otherwise all
// do, and the measurement is not stopped early.
inline constexpr int kAlonePairsMin = 3;
// If fewer pairs than this had samples alone, there are more pairs, unless the core has been alone
// less often than this share of the time, of late.
inline constexpr int kAlonePairsWanted = 8;
inline constexpr double kAloneShareMin = 0.2;
// A measurement that is to be precise waits so long in all for a core of its own, and looks so
// often at most: of two unlike programs a neighbour slows down one more. Neighbours came and went
// every second or two where this was settled. (Others do not wait, which would double their time
// there; their error says so.)
inline constexpr double kAloneWaitNs = 5e9;
inline constexpr int kAloneLooks = 5'000;
// The pairs there are at most, with those for that and those to be precise (stopping.h).
inline constexpr int kProcessPairsMax = 40;

// A gain rests on at least so many pairs, whatever the budget: a candidate may not choose, by being
// slow where it does not count, to be timed by one lucky pair.
inline constexpr int kPairsOfAGain = 3;

// The time stage takes at most this, waiting apart, however generous limits.total_s is: fewer
// samples instead of longer ones.
inline constexpr double kTimeBudgetSeconds = 8;
inline constexpr int kCallsMax = 1024;
inline constexpr int64_t kBatchBytesMax = int64_t{32} << 20;

// The shortest time seen of one call at one size, waking included.
struct CallEstimate {
  double reference_ns = 0;
  double candidate_ns = 0;
};

// Calls per request of at least `batch_ns` at a size whose calls take `estimate` (with a
// `harness_floor_ns` of waking in it) and touch `bytes_per_call`.
int CallsPerRequest(const CallEstimate& estimate, double harness_floor_ns, int64_t bytes_per_call,
                    double batch_ns);

// Samples per process pair, at most `samples_max`, so that kProcessPairs of `sample_ns` (all sizes,
// both members, filling and checking) fit into `budget_ns`.
int SamplesPerPair(double sample_ns, double budget_ns, int samples_max);

// Whether the candidate is kFarFactor times as fast as the reference, or as slow, at every size.
bool FarApart(const std::vector<CallEstimate>& estimates);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_STATS_PLAN_H_
