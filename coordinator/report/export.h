// A run as JSON lines, for programs that analyse it (docs/formats/export.md has the columns).
#ifndef WHETSTONE_COORDINATOR_REPORT_EXPORT_H_
#define WHETSTONE_COORDINATOR_REPORT_EXPORT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/journal.h"

namespace whetstone {

struct ExportCounts {
  int64_t rollouts = 0;
  int64_t verdicts = 0;
  int64_t metrics = 0;
};

// Writes rollouts.jsonl, verdicts.jsonl and metrics.jsonl to `folder`, which is made; each appears
// when it is whole, in the place of an older one. `progress` is told the counts so far now and
// then. It reads what the journal holds when it comes there: a run may go on meanwhile.
// RESOURCE_EXHAUSTED and the like: a file cannot be written. DATA_LOSS: the journal is damaged.
absl::StatusOr<ExportCounts> ExportRun(const CampaignPlan& plan, const Journal& journal,
                                       const std::string& folder,
                                       const std::function<void(const ExportCounts&)>& progress);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_EXPORT_H_
