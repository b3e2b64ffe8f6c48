// RunCampaign takes one campaign from an open run directory to its end: services, loop, console,
// files, alarms, and whom the campaign tells of them (notify).
#ifndef WHETSTONE_COORDINATOR_LOOP_RUN_CAMPAIGN_H_
#define WHETSTONE_COORDINATOR_LOOP_RUN_CAMPAIGN_H_

#include <functional>

#include "absl/status/status.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {

// Runs a campaign to its end, be it new or resumed: the journal says how far it is. OK: it is done.
// CANCELLED: the operator stopped it, or `enough` (asked after each update, of warm-up and GRPO;
// may be empty) said so. `steal` takes the trainer from another campaign that it serves. Everything
// is borrowed for the call.
absl::Status RunCampaign(const CampaignPlan& plan, const RunPaths& paths, Journal* journal,
                         StopSignals* signals, Console* console,
                         const std::function<bool(const v1::UpdateName& done)>& enough = {},
                         bool steal = false);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_RUN_CAMPAIGN_H_
