#include "coordinator/yaml/message_shape.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "whetstone/v1/yaml.pb.h"

namespace whetstone {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;

}  // namespace

bool IsMessage(const FieldDescriptor* field) {
  return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

bool IsEntry(const Descriptor* message) {
  return message->field_count() == 2 && message->FindFieldByName("key") != nullptr &&
         message->FindFieldByName("value") != nullptr;
}

bool IsKeyed(const FieldDescriptor* field) {
  return field->is_repeated() && IsMessage(field) && IsEntry(field->message_type());
}

const FieldDescriptor* PlainField(const Descriptor* message) {
  return message->FindFieldByName("plain");
}

const FieldDescriptor* MapBesidePlain(const Descriptor* message) {
  return message->field(1 - PlainField(message)->index());
}

std::vector<std::string> KeysOf(const Descriptor* message) {
  std::vector<std::string> keys;
  for (int i = 0; i < message->field_count(); ++i) keys.push_back(message->field(i)->name());
  return keys;
}

std::string EnumWord(const EnumValueDescriptor* value) {
  return absl::EndsWith(value->name(), "_UNSPECIFIED") ? "" : absl::AsciiStrToLower(value->name());
}

std::vector<std::string> WordsOf(const FieldDescriptor* field) {
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM) {
    return absl::StrSplit(field->options().GetExtension(v1::one_of), ' ', absl::SkipEmpty());
  }
  std::vector<std::string> words;
  for (int i = 0; i < field->enum_type()->value_count(); ++i) {
    const std::string word = EnumWord(field->enum_type()->value(i));
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

NumberBounds BoundsOf(const FieldDescriptor* field) {
  const google::protobuf::FieldOptions& options = field->options();
  NumberBounds bounds;
  if (options.HasExtension(v1::at_least)) bounds.at_least = options.GetExtension(v1::at_least);
  if (options.HasExtension(v1::above)) bounds.above = options.GetExtension(v1::above);
  if (options.HasExtension(v1::at_most)) bounds.at_most = options.GetExtension(v1::at_most);
  if (options.HasExtension(v1::below)) bounds.below = options.GetExtension(v1::below);
  return bounds;
}

}  // namespace whetstone
