// A campaign file becomes a v1::Campaign, or an error that names file, line, key and what to do,
// and shows the line (common/source_place.h).
//
//   ASSIGN_OR_RETURN(v1::Campaign campaign, LoadCampaign("quickstart.yaml", {"train.steps=4"}));
//   std::string frozen = MessageToYaml(campaign);   // reads back to an equal campaign
//
// There are three sources, of which later ones win key by key: coordinator/config/defaults.yaml,
// the file, --set. Paths (problems, warmup.examples, ssh_config and, without a cluster, model and
// checkpoint.dir) come out absolute: "~/" is the home directory, relative ones in the file are
// relative to the file's folder, relative ones in --set to the current directory. Worker host
// ranges come out expanded. Nothing but the campaign file is read.
#ifndef WHETSTONE_COORDINATOR_CONFIG_CAMPAIGN_PARSER_H_
#define WHETSTONE_COORDINATOR_CONFIG_CAMPAIGN_PARSER_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/source_place.h"
#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

// Returns the text of coordinator/config/defaults.yaml, as built in.
absl::string_view DefaultCampaignYaml();

// Returns the JSON Schema of campaign files (coordinator/yaml/yaml_schema.h).
nlohmann::ordered_json CampaignSchema();

// NOT_FOUND and the like: the file cannot be read, or one that it names (`problems`,
// `warmup.examples`) is not there. INVALID_ARGUMENT: everything else.
absl::StatusOr<v1::Campaign> LoadCampaign(const std::string& path,
                                          const std::vector<std::string>& sets);

// Says where a key of a campaign that LoadCampaign took has its value from, for a message about it:
// "campaign.yaml:7" or "--set a.b=1"; the nearest enclosing section's, or PATH, if nobody gave it.
SourcePlace PlaceInCampaign(const std::string& path, const std::vector<std::string>& sets,
                            const std::string& key);

// Does what LoadCampaign does for text in memory, but for looking at the files it names: `name`
// stands for the file in messages, `folder` (absolute) is what relative paths are relative to.
absl::StatusOr<v1::Campaign> ParseCampaign(absl::string_view yaml, const std::string& name,
                                           const std::string& folder,
                                           const std::vector<std::string>& sets);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_CAMPAIGN_PARSER_H_
