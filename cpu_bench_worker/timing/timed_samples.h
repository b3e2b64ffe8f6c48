// The samples of one measurement, and which of them count: those that had their physical core for
// themselves, if there are enough of them. (A program beside a neighbour on the other hyper-thread
// is slowed down by what it needs of the core, the reference by what it needs; their ratio is of
// that neighbour, too.)
//
//   TimedSamples samples(/*sizes=*/2);
//   samples.Add({.size = 0, .pair = 1, .reference_ns = 90, .candidate_ns = 30});
//   const Score score = FinalScore(samples.Ratios(), …);
//
// Pure. One thread at a time.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_TIMED_SAMPLES_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_TIMED_SAMPLES_H_

#include <cstddef>
#include <vector>

#include "cpu_bench_worker/stats/statistics.h"

namespace whetstone {

// Beside a neighbour on the same physical core equal code scored up to 2 % off; thresholds are
// measured without.
inline constexpr double kSharedAaThreshold = 0.02;
// And two unlike programs are slowed down differently: of |ln speedup|, how far from its speedup
// alone a program came out there (an expert of 8.0 at 8.9 to 10.3, a product of 8.2 at 9.4 to 9.9).
// Nearly all of that was one way on that host; on another it may be the other way.
inline constexpr double kSharedDrift = 0.125;
// What LongRunError takes for the threshold, if samples beside a neighbour count or if they do not.
double LongRunThreshold(double aa_threshold, bool counts_shared);

struct TimedSample {
  size_t size = 0;
  int pair = 0;             // of processes; grows with time
  double reference_ns = 0;  // of one call
  double candidate_ns = 0;
  bool shared = false;  // something else ran on the same physical core

  double ratio() const { return reference_ns / candidate_ns; }
};

// What the samples of one size come to.
struct TimedSize {
  double speedup = 0;       // median ratio of the samples that count
  double reference_ns = 0;  // median of one call, harness floor subtracted
  double candidate_ns = 0;
  int calls_per_request = 0;
  int samples = 0;  // that count
  int samples_redone = 0;
  int samples_frequency_changed = 0;  // of those redone: because the core changed its frequency
  int samples_core_shared = 0;        // something else ran on the same physical core
  int samples_counted_shared = 0;     // of those: count all the same, because too few others do
};

class TimedSamples {
 public:
  explicit TimedSamples(size_t sizes) : by_size_(sizes) {}

  void Add(const TimedSample& sample) { by_size_[sample.size].push_back(sample); }

  // Process pairs that have, at every size, a sample that was not shared.
  int AlonePairs() const { return static_cast<int>(Pairs(/*alone=*/true).size()); }

  // counting[size][pair]: of the pairs that have a sample that counts at every size, in the order
  // of time. From kAlonePairsMin such pairs on only samples that were not shared count, else all
  // do.
  std::vector<std::vector<std::vector<TimedSample>>> Counting() const;
  // Whether a sample that counts was shared.
  bool CountsShared() const;
  // The ratios of Counting().
  std::vector<PairedRatios> Ratios() const;
  // All of `size` but how its samples came about: calls per request and what was redone.
  TimedSize Summary(size_t size) const;

 private:
  // Those that have, at every size, a sample; with `alone`, one that was not shared.
  std::vector<int> Pairs(bool alone) const;

  std::vector<std::vector<TimedSample>> by_size_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_TIMED_SAMPLES_H_
