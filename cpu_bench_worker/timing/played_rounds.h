// The rounds of one measurement, and which of them count: those that had their physical core for
// themselves, if there are enough of them. (A program beside a neighbour on the other hyper-thread
// is slowed down by what it needs of the core, the reference by what it needs; their ratio is of
// that neighbour, too.)
//
//   PlayedRounds played(/*sizes=*/2);
//   played.Add({.size = 0, .pair = 1, .reference_ns = 90, .candidate_ns = 30});
//   const Score score = FinalScore(played.Ratios(), …);
//
// Pure. One thread at a time.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_PLAYED_ROUNDS_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_PLAYED_ROUNDS_H_

#include <cstddef>
#include <vector>

#include "cpu_bench_worker/stats/statistics.h"

namespace whetstone {

struct PlayedRound {
  size_t size = 0;
  int pair = 0;             // of processes; grows with time
  double reference_ns = 0;  // of one call
  double candidate_ns = 0;
  bool shared = false;  // something else ran on the same physical core

  double ratio() const { return reference_ns / candidate_ns; }
};

class PlayedRounds {
 public:
  explicit PlayedRounds(size_t sizes) : by_size_(sizes) {}

  void Add(const PlayedRound& round) { by_size_[round.size].push_back(round); }

  // Process pairs that have, at every size, a round that was not shared.
  int AlonePairs() const { return static_cast<int>(Pairs(/*alone=*/true).size()); }
  // Of the rounds of `size`: how many were shared.
  int SharedRounds(size_t size) const;

  // counting[size][pair]: of the pairs that have a round that counts at every size, in the order of
  // time. From kAlonePairsMin such pairs on only rounds that were not shared count, else all do.
  std::vector<std::vector<std::vector<PlayedRound>>> Counting() const;
  // … their ratios.
  std::vector<PairedRatios> Ratios() const;

 private:
  // Those that have, at every size, a round; with `alone`, one that was not shared.
  std::vector<int> Pairs(bool alone) const;

  std::vector<std::vector<PlayedRound>> by_size_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_PLAYED_ROUNDS_H_
