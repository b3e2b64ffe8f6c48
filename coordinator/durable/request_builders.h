// The trainer is asked by these requests: every one that depends on the campaign's state. They are
// pure functions of the plan and the durable state, so a replay of the journal builds the same
// bytes again.
//
//   v1::UpdateRequest request = BuildUpdate(plan, durable);   // durable.done() must be false
#ifndef WHETSTONE_COORDINATOR_DURABLE_REQUEST_BUILDERS_H_
#define WHETSTONE_COORDINATOR_DURABLE_REQUEST_BUILDERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/step_record.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Asks for the load of `path` as the policy of this campaign, to learn as it says.
v1::LoadCheckpointRequest BuildLoad(const CampaignPlan& plan, const std::string& path);

// Returns whether the trainer knows who holds it. FAILED_PRECONDITION: it is of an earlier version.
absl::Status CheckHeld(const v1::LoadCheckpointResponse& loaded);

// Says that `holder` needs the trainer no longer. One that does not hear it is free when its lease
// has run out.
v1::TrainerInfoRequest BuildRelease(const v1::Holder& holder);

// Asks for the next update. For GRPO every rollout of its step must have its verdict.
v1::UpdateRequest BuildUpdate(const CampaignPlan& plan, const DurableState& durable);

// Returns what the journal holds of an update's request: the SHA-256 over its bytes, with paths
// below the campaign's checkpoint directory relative to that, as a run may be moved.
std::string RequestHash(const CampaignPlan& plan, v1::UpdateRequest request);

// Returns the request that was answered by `entry`, the next after `before`, built again.
// DATA_LOSS: rollouts or verdicts are missing or, if it must be `exact`, it has not the entry's
// hash: campaign.yaml, its inputs or the journal were changed, or another version of this program
// wrote them.
absl::StatusOr<v1::UpdateRequest> RecordedRequest(const CampaignPlan& plan,
                                                  const DurableState& before,
                                                  const UpdateEntry& entry, bool exact);

// Asks for what is still to be sampled for `step`; no groups if nothing.
v1::GenerateRequest BuildGenerate(const CampaignPlan& plan, const StepRecord& step);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_REQUEST_BUILDERS_H_
