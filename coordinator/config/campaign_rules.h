// The rules say what a campaign may say beyond its keys' types: ranges, known words, combinations
// that can't work, and values of keys that this version does not run.
#ifndef WHETSTONE_COORDINATOR_CONFIG_CAMPAIGN_RULES_H_
#define WHETSTONE_COORDINATOR_CONFIG_CAMPAIGN_RULES_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// Returns INVALID_ARGUMENT "FILE:LINE: 'key' …" for the first broken rule; `where` gives a key's
// file and line.
absl::Status CheckCampaignRules(const v1::Campaign& campaign,
                                const std::function<std::string(const std::string& key)>& where);

// Returns measure.isolation_min of a campaign that was checked.
v1::IsolationLevel IsolationMin(const v1::Campaign& campaign);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_CAMPAIGN_RULES_H_
