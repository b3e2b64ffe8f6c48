#include "coordinator/durable/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace whetstone {

double LearningRate(const LrSchedule& s, int64_t step) {
  if (step < s.warmup_steps) {
    return s.peak * static_cast<double>(step) / static_cast<double>(s.warmup_steps);
  }
  if (!s.cosine) return s.peak;
  // Update `warmup_steps` (or the first) runs at the peak, update `total_steps` at the floor.
  const int64_t start = std::max<int64_t>(s.warmup_steps, 1);
  const double span = static_cast<double>(std::max<int64_t>(s.total_steps - start, 1));
  const double done = std::clamp(static_cast<double>(step - start) / span, 0.0, 1.0);
  const double share = 0.5 * (1 + std::cos(std::numbers::pi * done));
  return s.peak * (s.min_ratio + (1 - s.min_ratio) * share);
}

LrSchedule WarmupSchedule(const v1::WarmupConfig& config, int64_t total_steps) {
  return {config.lr(), config.lr_warmup_steps(), total_steps, true, 0.1};
}

LrSchedule TrainSchedule(const v1::TrainConfig& config) {
  return {config.lr(), config.lr_warmup_steps(), config.steps(), config.lr_schedule() == "cosine",
          config.lr_min_ratio()};
}

}  // namespace whetstone
