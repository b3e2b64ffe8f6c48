#include "coordinator/trace/worker_clocks.h"

#include <algorithm>

namespace whetstone {

void WorkerClocks::Add(const v1::Verdict& verdict, std::optional<int64_t> asked_us,
                       int64_t here_us) {
  const v1::StageTimes& stages = verdict.stage_times();
  if (stages.reached_us() == 0) return;
  Bounds& bounds = bounds_[verdict.worker()];
  const int64_t most = here_us - stages.reached_us();
  bounds.most = std::min(bounds.most.value_or(most), most);
  if (!asked_us) return;
  // Stages go in this order, and some are left out.
  for (const int64_t begin_us : {stages.build_us(), stages.check_us(), stages.time_us()}) {
    if (begin_us == 0) continue;
    const int64_t least = *asked_us - begin_us;
    bounds.least = std::max(bounds.least.value_or(least), least);
    return;
  }
}

int64_t WorkerClocks::OffsetUs(const std::string& worker) const {
  const auto found = bounds_.find(worker);
  if (found == bounds_.end()) return 0;
  const Bounds& bounds = found->second;
  const int64_t offset = std::max<int64_t>(bounds.least.value_or(0), 0);
  return std::min(bounds.most.value_or(offset), offset);
}

}  // namespace whetstone
