// YAML into a protobuf message, strictly: the message's descriptor is the schema.
//
//   YamlMessage merged(&campaign);
//   RETURN_IF_ERROR(merged.Merge(defaults, "defaults.yaml"));
//   RETURN_IF_ERROR(merged.Merge(text, "campaign.yaml"));       // overrides key by key
//   RETURN_IF_ERROR(merged.Set("train.steps=4"));               // as on the command line
//   merged.Where("train.steps");                                // "--set train.steps=4"
//
// Scalars replace, maps merge, lists replace as a whole, and `null` takes a key back out. An
// unknown key, a key given twice or a value of the wrong type is INVALID_ARGUMENT: "FILE:LINE: what
// is wrong", with the nearest key where one is misspelt. Not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CONFIG_YAML_MESSAGE_H_
#define WHETSTONE_COORDINATOR_CONFIG_YAML_MESSAGE_H_

#include <google/protobuf/message.h>

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace whetstone {

class YamlMessage {
 public:
  // `message` is borrowed for the object's life.
  explicit YamlMessage(google::protobuf::Message* message) : message_(message) {}

  // `name` stands for the text in messages. The text must be one map, or empty.
  absl::Status Merge(absl::string_view yaml, const std::string& name);
  // "a.b.c=VALUE", the value in YAML: `train.lora={rank: 0}` and `problems=[a.md, b.md]` work too.
  absl::Status Set(const std::string& assignment);

  // Where the key's value came from: "campaign.yaml:7" or "--set a.b=1"; for a key nobody gave, the
  // nearest enclosing section's place, and `name` of the last Merge if there is none.
  std::string Where(const std::string& key) const;
  // True if a source other than the first one merged gave this key or one below it.
  bool Given(const std::string& key) const;

 private:
  google::protobuf::Message* message_;
  int merges_ = 0;
  std::string last_name_;
  std::map<std::string, std::string> given_;  // key → place, from every source after the first
};

// The message as YAML that Merge reads back to an equal message: every scalar with its value,
// sub-messages only where present.
std::string MessageToYaml(const google::protobuf::Message& message);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_YAML_MESSAGE_H_
