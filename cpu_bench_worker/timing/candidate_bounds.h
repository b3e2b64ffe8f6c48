// Bounds what a candidate gains by being slow where its time does not count: in the first request
// of a process, which warms it up, and in the samples that settle how many calls share a request.
// Both are compared with its timed samples.
//
//   CandidateBounds bounds(/*sizes=*/2);
//   bounds.BeginPair();
//   bounds.WarmedUp(0, request_ns, calls);  …  bounds.Settled(0, call);  …  bounds.Timed(0, …);  …
//   if (bounds.SettledTooSlow()) …                  // settle again, from bounds.Shortest(size)
//
// Not thread-safe.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_CANDIDATE_BOUNDS_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_CANDIDATE_BOUNDS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "cpu_bench_worker/problem/arguments.h"
#include "cpu_bench_worker/stats/plan.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {

// A warm-up may take so many times as long as its calls do later, at the longest, and this much
// more: first calls fault pages in and build small tables.
inline constexpr double kWarmUpFactor = 20;
inline constexpr double kWarmUpNs = 200e6;
// Settling is done again if a timed call is so many times as fast as it found, and the reference's
// is not; at most so often.
inline constexpr double kSettledFactor = 1.5;
inline constexpr int kSettlingsMax = 3;

class CandidateBounds {
 public:
  explicit CandidateBounds(size_t sizes) : sizes_(sizes) {}

  // A fresh process pair: its warm-ups are compared with its own samples.
  void BeginPair();
  // Nanoseconds of the process's first request at a size, which had so many calls.
  void WarmedUp(size_t size, double request_ns, int calls) {
    sizes_[size].warm_up_ns = request_ns;
    sizes_[size].warm_up_calls = calls;
  }
  // Nanoseconds of one call of both in a timed sample.
  void Timed(size_t size, double reference_ns, double candidate_ns);
  void BeginSettling() { ++settlings_; }
  void Settled(size_t size, const CallEstimate& call) { sizes_[size].settled = call; }

  // TIMEOUT if a warm-up in this pair was too long; `sizes` names them.
  std::optional<Failure> WarmUpTooLong(const std::vector<CallShape>& sizes) const;
  // Whether the candidate was slower while the calls were settled than it is when it is timed.
  bool SettledTooSlow() const;
  // The shortest call seen since the settling: a better guess.
  CallEstimate Shortest(size_t size) const;

 private:
  static constexpr double kNeverNs = 1e12;
  struct Size {
    double warm_up_ns = 0;
    int warm_up_calls = 1;
    double longest_ns = 0;
    CallEstimate shortest{.reference_ns = kNeverNs, .candidate_ns = kNeverNs};
    CallEstimate settled;
  };
  std::vector<Size> sizes_;
  int settlings_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_CANDIDATE_BOUNDS_H_
