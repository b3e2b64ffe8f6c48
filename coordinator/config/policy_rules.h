// The rules of a policy that learns nothing: `train.frozen`, and `policy`, a model behind an
// endpoint.
#ifndef WHETSTONE_COORDINATOR_CONFIG_POLICY_RULES_H_
#define WHETSTONE_COORDINATOR_CONFIG_POLICY_RULES_H_

#include "absl/status/status.h"
#include "coordinator/config/rule_checks.h"
#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

// Gives a campaign whose programs a model behind an endpoint writes what follows from that: its
// policy is frozen, and its model is that one.
void SettlePolicy(v1::Campaign* campaign);

// Checks `policy` and `train.frozen`, and what cannot go with them. The policy must be settled.
absl::Status CheckPolicyRules(const v1::Campaign& campaign, const RuleChecks& rules);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_POLICY_RULES_H_
