// The rules between a campaign's lists of problems: what it learns from and what it evaluates.
#ifndef WHETSTONE_COORDINATOR_CONFIG_PROBLEM_RULES_H_
#define WHETSTONE_COORDINATOR_CONFIG_PROBLEM_RULES_H_

#include "absl/status/status.h"
#include "coordinator/config/rule_checks.h"
#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

// Returns whether the campaign changes the policy; one that does not searches with it, or only
// evaluates it.
bool Learns(const v1::Campaign& campaign);

// Checks `problems`, `eval` and `checkpoint.best_by`. Which splits they are of only their files
// say.
absl::Status CheckProblemRules(const v1::Campaign& campaign, const RuleChecks& rules);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_PROBLEM_RULES_H_
