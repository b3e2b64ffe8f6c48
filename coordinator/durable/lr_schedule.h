// Each update has a learning rate: a linear rise, then constant or a cosine down to a floor.
#ifndef WHETSTONE_COORDINATOR_DURABLE_LR_SCHEDULE_H_
#define WHETSTONE_COORDINATOR_DURABLE_LR_SCHEDULE_H_

#include <cstdint>

#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

struct LrSchedule {
  double peak = 0;
  int64_t warmup_steps = 0;  // update k of these runs at peak * k / warmup_steps
  int64_t total_steps = 0;
  bool cosine = false;  // after the rise: half a cosine from peak to peak * min_ratio
  double min_ratio = 0;
};

// Returns the learning rate of update `step`, counted from 1. It is never 0 for a positive peak and
// min_ratio.
double LearningRate(const LrSchedule& schedule, int64_t step);

// The two phases have schedules of their own. The supervised warm-up always decays, to a tenth of
// its peak.
LrSchedule WarmupSchedule(const v1::WarmupConfig& config, int64_t total_steps);
LrSchedule TrainSchedule(const v1::TrainConfig& config);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_LR_SCHEDULE_H_
