// Asking a model behind an endpoint may cost money: before a campaign that does begins, what it can
// ask for at most is shown, and somebody says yes.
#ifndef WHETSTONE_COORDINATOR_LOOP_ENDPOINT_APPROVAL_H_
#define WHETSTONE_COORDINATOR_LOOP_ENDPOINT_APPROVAL_H_

#include <string>

#include "absl/status/status.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {

// Returns how many requests of how many tokens the campaign can come to, and its limits, for
// people. Prompts are counted as four bytes a token.
std::string EndpointCostText(const CampaignPlan& plan);

// Shows that and asks; `yes` approves unasked. OK at once for a campaign without an endpoint, and
// for one on this machine. FAILED_PRECONDITION: there is nobody to ask. CANCELLED: the answer was
// no.
absl::Status ApproveEndpoint(const CampaignPlan& plan, bool yes, StopSignals* signals,
                             Console* console);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_ENDPOINT_APPROVAL_H_
