// What a message's descriptor says of the YAML that it is read from; yaml_message.h has the rules.
// All functions are pure and thread-safe.
#ifndef WHETSTONE_COORDINATOR_YAML_MESSAGE_SHAPE_H_
#define WHETSTONE_COORDINATOR_YAML_MESSAGE_SHAPE_H_

#include <google/protobuf/descriptor.h>

#include <optional>
#include <string>
#include <vector>

namespace whetstone {

bool IsMessage(const google::protobuf::FieldDescriptor* field);

// Says whether a message is an entry of a map with keys of the author's own: `key` and `value`.
bool IsEntry(const google::protobuf::Descriptor* message);

// Says whether the field is such a map.
bool IsKeyed(const google::protobuf::FieldDescriptor* field);

// Returns the field that a plain value goes to, where the message has one: the other one is then
// what a map goes to.
const google::protobuf::FieldDescriptor* PlainField(const google::protobuf::Descriptor* message);
const google::protobuf::FieldDescriptor* MapBesidePlain(
    const google::protobuf::Descriptor* message);

// Returns the names of a message's keys.
std::vector<std::string> KeysOf(const google::protobuf::Descriptor* message);

// Returns a value of an enum as YAML has it; empty for the one that cannot be written.
std::string EnumWord(const google::protobuf::EnumValueDescriptor* value);

// Returns the words that the field's value may be, its enum's or those of `one_of`; empty: any.
std::vector<std::string> WordsOf(const google::protobuf::FieldDescriptor* field);

// The bounds of a number, from the options of the same names.
struct NumberBounds {
  std::optional<double> at_least;
  std::optional<double> above;
  std::optional<double> at_most;
  std::optional<double> below;
};
NumberBounds BoundsOf(const google::protobuf::FieldDescriptor* field);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_YAML_MESSAGE_SHAPE_H_
