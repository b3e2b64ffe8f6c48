// Verdicts reached before, by machine code: sources that differ in names and layout only compile to
// the same object, and need not be measured again.
//
//   if (cache.Find(least_speedup, &verdict)) return verdict;
//   …                                           // measure it
//   cache.Add(verdict);
//
// Thread-safe.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_VERDICT_CACHE_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_VERDICT_CACHE_H_

#include <mutex>

#include "cpu_bench_worker/measure/recently_used.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

class VerdictCache {
 public:
  // Keeps so many at most; the least recently used go first.
  explicit VerdictCache(size_t verdicts_max) : verdicts_(verdicts_max) {}

  // Completes `verdict`, which names its problem and its object, by what an equal object reached:
  // all but what belongs to the source and not to its machine code. False, and nothing is changed,
  // if there is none, or if it was not timed to its end and may be `least_speedup` times as fast.
  bool Find(double least_speedup, v1::Verdict* verdict);
  // Keeps a final verdict if the machine code alone decided it; one that a disturbed machine may
  // have caused is left out. One that was not timed to its end takes no other's place that was.
  void Add(const v1::Verdict& verdict);

 private:
  std::mutex mutex_;
  RecentlyUsed<const v1::Verdict> verdicts_;  // by problem and object hash
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_VERDICT_CACHE_H_
