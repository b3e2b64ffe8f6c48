#include "gpu_trainer/train/learner/update_stopwatch.h"

#include <algorithm>

namespace whetstone {

void UpdateStopwatch::WriteTo(std::map<std::string, double>* metrics) const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  (*metrics)["perf/tokens_per_s"] = metrics->at("perf/packed_tokens") / passed.count();
  if (ranks_.alone()) return;
  const RankTraffic& now = ranks_.traffic();
  const double communication_s = now.communication_s - traffic_.communication_s;
  (*metrics)["perf/communication_s"] = communication_s;
  (*metrics)["perf/communication_hidden"] =
      communication_s > 0 ? std::min(1.0, (now.hidden_s - traffic_.hidden_s) / communication_s) : 0;
  (*metrics)["perf/communication_mib"] = (now.bytes - traffic_.bytes) / (1 << 20);
  (*metrics)["perf/rank_wait_s"] = now.wait_s - traffic_.wait_s;
}

}  // namespace whetstone
