// A message's schema says which words a text may be and between what a number lies (the options of
// proto/whetstone/v1/yaml.proto). A message is held to that once it is merged: what one source says
// another may replace.
//
//   RETURN_IF_ERROR(merged.Merge(text, "campaign.yaml"));
//   RETURN_IF_ERROR(merged.Set("train.lr=0"));
//   RETURN_IF_ERROR(CheckLimits(merged));   // "--set train.lr=0: 'train.lr' must be greater …"
#ifndef WHETSTONE_COORDINATOR_YAML_YAML_LIMITS_H_
#define WHETSTONE_COORDINATOR_YAML_YAML_LIMITS_H_

#include "absl/status/status.h"
#include "coordinator/yaml/yaml_message.h"

namespace whetstone {

// Returns INVALID_ARGUMENT "PLACE: 'key' must be …" for the first value that its field's options do
// not allow, in the schema's order. What the schema calls `optional` may be missing; of any other
// section that is not there the values are 0 and "".
absl::Status CheckLimits(const YamlMessage& source);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_YAML_YAML_LIMITS_H_
