// What is wrong with the machine that a run lies on, or with a run that does nothing; and all that
// does not follow from its steps. health_limits.h has the thresholds.
#ifndef WHETSTONE_COORDINATOR_REPORT_MACHINE_HEALTH_H_
#define WHETSTONE_COORDINATOR_REPORT_MACHINE_HEALTH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/report/health_finding.h"

namespace whetstone {

// Says whether the disk of `folder`, which is there, is nearly full. `checkpoint_bytes` is what a
// checkpoint takes there; 0: none is saved there. Nothing where the disk cannot be asked.
std::optional<HealthFinding> DiskHealth(const std::string& folder, int64_t checkpoint_bytes);

// Returns how many bytes the newest checkpoint takes, if it lies below `folder`; else 0.
int64_t BytesBelow(const std::string& folder, const std::vector<CheckpointEntry>& checkpoints);

// Returns the longest of the newest kHealthSteps steps, seconds; 0 before the first. `rows` are
// those of the GRPO steps (step_row.h), in order.
double LongestStep(const std::vector<std::map<std::string, double>>& rows);

// Says whether a run that goes on has stalled: it journaled nothing for `silent_s`; `step_s` is
// LongestStep. Pure.
std::optional<HealthFinding> StallHealth(double silent_s, double step_s);

// Returns what is wrong with a run that is not done, besides what its steps tell: with its
// measuring, its disk and, if `step_s` says that it goes on, whether it has stalled. Errors are the
// journal's.
absl::StatusOr<std::vector<HealthFinding>> OtherHealth(
    const RunPaths& paths, const Journal& journal, const std::vector<CheckpointEntry>& checkpoints,
    std::optional<double> step_s);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_MACHINE_HEALTH_H_
