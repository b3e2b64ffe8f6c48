// Measures what an update takes, from its construction on.
//
//   const UpdateStopwatch stopwatch(ranks);
//   … the update …
//   stopwatch.WriteTo(&result.metrics);
//
// Not thread-safe; borrows the ranks.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_UPDATE_STOPWATCH_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_UPDATE_STOPWATCH_H_

#include <chrono>
#include <map>
#include <string>

#include "gpu_trainer/distributed/rank_group.h"

namespace whetstone {

class UpdateStopwatch {
 public:
  explicit UpdateStopwatch(const RankGroup& ranks) : ranks_(ranks), traffic_(ranks.traffic()) {}

  // perf/tokens_per_s is perf/packed_tokens, which must be there, a second. Where there are several
  // ranks, these are of this one: perf/communication_s, with gradients or weights on their way;
  // perf/communication_hidden, the fraction of it in which there was something else to do;
  // perf/communication_mib, sent; perf/rank_wait_s, spent waiting for ranks still at work.
  void WriteTo(std::map<std::string, double>* metrics) const;

 private:
  const RankGroup& ranks_;
  const RankTraffic traffic_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_UPDATE_STOPWATCH_H_
