// A HealthMonitor looks at a run while it goes on, and tells of each alarm once when it rises
// (coordinator/report/health_limits.h).
//
//   HealthMonitor monitor(&plan, paths, journal, [&](const HealthFinding& finding) {…});
//   monitor.Step(12, row);        // a GRPO step is done
//   monitor.Look(now_s);          // about once a second
//
// What follows from the steps of an earlier process counts as told.
#ifndef WHETSTONE_COORDINATOR_LOOP_HEALTH_MONITOR_H_
#define WHETSTONE_COORDINATOR_LOOP_HEALTH_MONITOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/durable/seconds.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/report/health_finding.h"
#include "coordinator/report/health_news.h"
#include "coordinator/report/learning_health.h"

namespace whetstone {

// It is not thread-safe.
class HealthMonitor {
 public:
  using Tell = std::function<void(const HealthFinding&)>;

  // `plan` and `journal` are borrowed.
  HealthMonitor(const CampaignPlan* plan, const RunPaths& paths, const Journal* journal, Tell tell)
      : paths_(paths), journal_(journal), tell_(std::move(tell)), learning_(plan) {}

  // Takes what the journal has already, before the first step. Errors are Journal::ForEachRow's.
  absl::Status Begin();
  // Takes the row of the next GRPO step, and looks at how it learns, once kHealthSteps can tell.
  void Step(int64_t step, const std::map<std::string, double>& row);
  void Saved(const CheckpointEntry& checkpoint) { checkpoints_ = {checkpoint}; }
  // Looks at the measuring, the disk and whether anything comes of it, every kHealthLookSeconds.
  // `now` is of a monotonic clock. Where the journal can not be read it tells nothing.
  void Look(Seconds now);

 private:
  std::vector<HealthFinding> Learning() const;
  void TellNew(HealthNews* news, const std::vector<HealthFinding>& found) {
    for (const HealthFinding& finding : news->Of(found)) tell_(finding);
  }

  const RunPaths paths_;
  const Journal* const journal_;
  const Tell tell_;
  LearningWatch learning_;
  HealthNews learning_news_;
  HealthNews other_news_;
  std::vector<CheckpointEntry> checkpoints_;  // the newest; empty: none is known
  Seconds looked_at_ = -1;                    // negative: not yet
  Seconds paused_at_ = -1;                    // when it was last seen paused; negative: never
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_HEALTH_MONITOR_H_
