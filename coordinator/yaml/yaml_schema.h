// The schema of a YAML file as editors and completions want it, from what YamlMessage itself reads
// by: the message's descriptor with its options, and the comments of its .proto file.
#ifndef WHETSTONE_COORDINATOR_YAML_YAML_SCHEMA_H_
#define WHETSTONE_COORDINATOR_YAML_YAML_SCHEMA_H_

#include <google/protobuf/descriptor.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "coordinator/yaml/yaml_message.h"

namespace whetstone {

// Returns the JSON Schema (2020-12) of files that are read into `defaults`' message: their keys,
// types, words, bounds and comments. Keys that were given in `defaults` (by Merge) have these
// values as their defaults. It asks for no key: another source may give it. What it allows may
// still be refused, for what keys say together; what it refuses is refused, but for quoted numbers
// where the dialect takes them.
nlohmann::ordered_json YamlSchema(const YamlMessage& defaults, const std::string& title);

// A key below which there are no others, as YamlMessage::Set takes it.
struct SchemaKey {
  std::string key;                 // "train.loss"
  std::vector<std::string> words;  // that its value may be; empty: any of its type
  std::string comment;
};

// Returns all keys of a message but those that are the author's own, in the schema's order.
std::vector<SchemaKey> SchemaKeys(const google::protobuf::Descriptor& message);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_YAML_YAML_SCHEMA_H_
