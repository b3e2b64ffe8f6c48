// The rules say what a campaign may say beyond what its schema has of every key alone (types, words
// and bounds, in campaign.proto): combinations that can't work, and values whose refusal needs a
// reason.
#ifndef WHETSTONE_COORDINATOR_CONFIG_CAMPAIGN_RULES_H_
#define WHETSTONE_COORDINATOR_CONFIG_CAMPAIGN_RULES_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/source_place.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// Returns INVALID_ARGUMENT "FILE:LINE: 'key' …" for the first broken rule; `place` says where a key
// was given.
absl::Status CheckCampaignRules(const v1::Campaign& campaign,
                                const std::function<SourcePlace(const std::string& key)>& place);

// Returns measure.isolation_min of a campaign that was checked.
v1::IsolationLevel IsolationMin(const v1::Campaign& campaign);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_CAMPAIGN_RULES_H_
