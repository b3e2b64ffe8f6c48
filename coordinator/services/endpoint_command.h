// The words with which `whet-endpoint` is started (coordinator/endpoint/main.cc): the program that
// stands in the trainer's place where a model behind an endpoint writes the programs.
#ifndef WHETSTONE_COORDINATOR_SERVICES_ENDPOINT_COMMAND_H_
#define WHETSTONE_COORDINATOR_SERVICES_ENDPOINT_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

// Returns what serves a campaign's endpoint, but for where it listens. What was asked is counted in
// `usage_path`, over all the times that it is started. NOT_FOUND: there is no such program.
absl::StatusOr<std::vector<std::string>> ServeEndpointCommand(const v1::PolicyConfig& policy,
                                                              const std::string& usage_path,
                                                              const std::string& bin_dir);

// Returns what asks the endpoint whether it is there, has the model and takes the key.
absl::StatusOr<std::vector<std::string>> CheckEndpointCommand(const v1::PolicyConfig& policy,
                                                              const std::string& bin_dir);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_ENDPOINT_COMMAND_H_
