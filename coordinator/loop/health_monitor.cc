#include "coordinator/loop/health_monitor.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "coordinator/report/health_limits.h"
#include "coordinator/report/machine_health.h"
#include "coordinator/report/measuring_health.h"

namespace whetstone {

absl::Status HealthMonitor::Begin() {
  RETURN_IF_ERROR(journal_->ForEachRow([&](const MetricsRow& row) {
    if (row.name.phase() == v1::UpdateName::GRPO) Add(row.name.step(), row.values);
  }));
  learning_news_.Of(learning_.Findings());
  return absl::OkStatus();
}

void HealthMonitor::Add(int64_t step, const std::map<std::string, double>& row) {
  learning_.Add(step, row);
  const auto took_s = row.find("time/step");
  step_s_.push_back(took_s == row.end() ? 0 : took_s->second);
  if (step_s_.size() > static_cast<size_t>(kHealthSteps)) step_s_.pop_front();
}

void HealthMonitor::Step(int64_t step, const std::map<std::string, double>& row) {
  Add(step, row);
  TellNew(&learning_news_, learning_.Findings());
}

void HealthMonitor::Look(Seconds now) {
  // At the start nothing has come yet, and a resumed run was silent before.
  if (looked_at_ < 0) looked_at_ = now;
  if (now - looked_at_ < kHealthLookSeconds) return;
  looked_at_ = now;
  std::vector<HealthFinding> found;
  absl::StatusOr<std::vector<HealthFinding>> measuring = MeasuringHealth(*journal_);
  if (measuring.ok()) found = *std::move(measuring);
  const auto disk = DiskHealth(paths_.root(), BytesBelow(paths_.root(), checkpoints_));
  if (disk) found.push_back(*disk);
  const absl::StatusOr<std::optional<int64_t>> last_us = journal_->LastTimeUs();
  if (last_us.ok() && *last_us) {
    const auto longest = std::ranges::max_element(step_s_);
    const auto stall = StallHealth(static_cast<double>(UnixMicros() - **last_us) / 1e6,
                                   longest == step_s_.end() ? 0 : *longest);
    if (stall) found.push_back(*stall);
  }
  TellNew(&other_news_, found);
}

}  // namespace whetstone
