// A protobuf message is written as YAML; coordinator/yaml/yaml_message.h reads it back.
#ifndef WHETSTONE_COORDINATOR_YAML_YAML_WRITER_H_
#define WHETSTONE_COORDINATOR_YAML_YAML_WRITER_H_

#include <google/protobuf/message.h>

#include <map>
#include <string>

namespace whetstone {

// Returns the message as YAML that YamlMessage::Merge reads back to an equal message: every scalar
// with its value, sub-messages only where present. It is not for messages with maps of `key` and
// `value`, or with enums.
std::string MessageToYaml(const google::protobuf::Message& message);

// Returns every key of the message with its value, as YamlMessage::Set takes them: {"train.lr",
// "1e-05"}. A list is one value; a sub-message that is not present has no keys.
std::map<std::string, std::string> FlatYaml(const google::protobuf::Message& message);

// Returns the text as a YAML scalar, in double quotes.
std::string QuotedText(const std::string& text);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_YAML_YAML_WRITER_H_
