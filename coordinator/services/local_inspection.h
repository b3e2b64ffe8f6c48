// InspectModelLocally looks at a campaign's model before anything is started: this machine's
// trainer does or, where a model behind an endpoint writes the programs, whoever speaks with that
// one.
#ifndef WHETSTONE_COORDINATOR_SERVICES_LOCAL_INSPECTION_H_
#define WHETSTONE_COORDINATOR_SERVICES_LOCAL_INSPECTION_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Returns what Trainer.InspectModel would answer, by `whet-trainer inspect` as a child process, or
// with a `policy` behind an endpoint by `whet-endpoint check`, who only knows whether it is there.
// `bin_dir` is as in FindServiceBinary. `cancelled` is polled, and may be empty. NOT_FOUND says
// that there is no such program, UNAVAILABLE that it gave no answer, with the last lines that it
// wrote. DEADLINE_EXCEEDED and CANCELLED mean what they say.
absl::StatusOr<v1::InspectModelResponse> InspectModelLocally(
    const v1::PolicyConfig& policy, const v1::InspectModelRequest& request,
    const std::string& bin_dir, const std::function<bool()>& cancelled);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_LOCAL_INSPECTION_H_
