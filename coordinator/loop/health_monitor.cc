#include "coordinator/loop/health_monitor.h"

#include <optional>

#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "coordinator/journal/pause_file.h"
#include "coordinator/report/health_limits.h"
#include "coordinator/report/machine_health.h"

namespace whetstone {

absl::Status HealthMonitor::Begin() {
  RETURN_IF_ERROR(journal_->ForEachRow([&](const MetricsRow& row) {
    if (row.name.phase() == v1::UpdateName::GRPO) learning_.Add(row.name.step(), row.values);
  }));
  learning_news_.Of(Learning());
  return absl::OkStatus();
}

void HealthMonitor::Step(int64_t step, const std::map<std::string, double>& row) {
  learning_.Add(step, row);
  TellNew(&learning_news_, Learning());
}

std::vector<HealthFinding> HealthMonitor::Learning() const {
  const bool enough = learning_.newest().size() == static_cast<size_t>(kHealthSteps);
  return enough ? learning_.Findings() : std::vector<HealthFinding>();
}

void HealthMonitor::Look(Seconds now) {
  // At the start nothing has come yet, and a resumed run was silent before.
  if (looked_at_ < 0) looked_at_ = now;
  if (now - looked_at_ < kHealthLookSeconds) return;
  looked_at_ = now;
  if (ReadPauseFile(paths_.paused())) paused_at_ = now;
  // A paused run journals nothing, and has done so for a while once it goes on.
  const double step_s = LongestStep(learning_.newest());
  const bool silent_before = paused_at_ >= 0 && !StallHealth(now - paused_at_, step_s);
  const absl::StatusOr<std::vector<HealthFinding>> found = OtherHealth(
      paths_, *journal_, checkpoints_, silent_before ? std::nullopt : std::optional(step_s));
  if (found.ok()) TellNew(&other_news_, *found);
}

}  // namespace whetstone
