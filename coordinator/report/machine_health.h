// What is wrong with the machine that a run lies on, or with a run that does nothing.
// health_limits.h has the thresholds.
#ifndef WHETSTONE_COORDINATOR_REPORT_MACHINE_HEALTH_H_
#define WHETSTONE_COORDINATOR_REPORT_MACHINE_HEALTH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/durable/journal_entry.h"
#include "coordinator/report/health_finding.h"

namespace whetstone {

// Says whether the disk of `folder`, which is there, is nearly full. `checkpoint_bytes` is what a
// checkpoint takes there; 0: none is saved there. Nothing where the disk cannot be asked.
std::optional<HealthFinding> DiskHealth(const std::string& folder, int64_t checkpoint_bytes);

// Returns how many bytes the newest checkpoint takes, if it lies below `folder`; else 0.
int64_t BytesBelow(const std::string& folder, const std::vector<CheckpointEntry>& checkpoints);

// Says whether a run that goes on has stalled: it journaled nothing for `silent_s`; `step_s` is the
// longest of its newest steps, 0 before the first. Pure.
std::optional<HealthFinding> StallHealth(double silent_s, double step_s);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_MACHINE_HEALTH_H_
