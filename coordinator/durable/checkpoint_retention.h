// A pure function of the plan and the durable state says which checkpoints a campaign keeps.
#ifndef WHETSTONE_COORDINATOR_DURABLE_CHECKPOINT_RETENTION_H_
#define WHETSTONE_COORDINATOR_DURABLE_CHECKPOINT_RETENTION_H_

#include <string>
#include <vector>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/durable_state.h"

namespace whetstone {

// Returns the directories of the others: of all but the newest checkpoint.keep, with
// checkpoint.keep_best the best, the reference of the KL penalty, and those that lie elsewhere than
// in plan.checkpoint_dir, which another campaign saved.
std::vector<std::string> ObsoleteCheckpoints(const CampaignPlan& plan, const DurableState& durable);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_CHECKPOINT_RETENTION_H_
