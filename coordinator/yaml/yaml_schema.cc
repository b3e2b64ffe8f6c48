#include "coordinator/yaml/yaml_schema.h"

#include <google/protobuf/message.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/yaml/message_shape.h"
#include "coordinator/yaml/schema_comments.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using nlohmann::ordered_json;

// Returns 20 for 20.0, so that nobody reads "at least 1.0 programs".
ordered_json PlainNumber(double value) {
  if (std::floor(value) == value && std::fabs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

void AddBounds(const FieldDescriptor* field, ordered_json* schema) {
  const NumberBounds bounds = BoundsOf(field);
  if (bounds.at_least) (*schema)["minimum"] = PlainNumber(*bounds.at_least);
  if (bounds.above) (*schema)["exclusiveMinimum"] = PlainNumber(*bounds.above);
  if (bounds.at_most) (*schema)["maximum"] = PlainNumber(*bounds.at_most);
  if (bounds.below) (*schema)["exclusiveMaximum"] = PlainNumber(*bounds.below);
}

ordered_json ScalarSchema(const FieldDescriptor* field) {
  const std::vector<std::string> words = WordsOf(field);
  if (!words.empty()) return {{"enum", words}};
  ordered_json schema;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_DOUBLE:
      schema["type"] = "number";
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      schema["type"] = "integer";
      schema["minimum"] = 0;
      break;
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
      schema["type"] = "integer";
      break;
    default:
      // Whatever stands there is text: `shape: [4]`, `date: 2024`.
      schema["type"] = {"string", "number", "boolean"};
  }
  AddBounds(field, &schema);
  return schema;
}

// Lets `null` take the key back out.
void AllowNull(ordered_json* schema) {
  if (schema->contains("enum")) {
    (*schema)["enum"].push_back(nullptr);
  } else if (schema->contains("anyOf")) {
    (*schema)["anyOf"].push_back(ordered_json{{"type", "null"}});
  } else {
    ordered_json& type = (*schema)["type"];
    if (!type.is_array()) type = ordered_json::array({type});
    type.push_back("null");
  }
}

class SchemaWriter {
 public:
  explicit SchemaWriter(const YamlMessage& defaults)
      : defaults_(defaults), values_(FlatYaml(defaults.message())) {}

  ordered_json Object(const Descriptor* message, const std::string& path) const {
    ordered_json properties = ordered_json::object();
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor* field = message->field(i);
      const std::string key = path.empty() ? field->name() : absl::StrCat(path, ".", field->name());
      ordered_json property = Value(field, key);
      const std::string comment = CommentOf(field);
      if (!comment.empty()) property["description"] = comment;
      const auto value = values_.find(key);
      if (!IsMessage(field) && value != values_.end() && defaults_.Given(key)) {
        property["default"] = ordered_json::parse(value->second);
      }
      properties[field->name()] = std::move(property);
    }
    return {
        {"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
  }

 private:
  // Of what stands behind a key.
  ordered_json Value(const FieldDescriptor* field, const std::string& key) const {
    ordered_json schema = Whole(field, key);
    if (defaults_.dialect().null_clears) AllowNull(&schema);
    return schema;
  }

  // Of all that a field has.
  ordered_json Whole(const FieldDescriptor* field, const std::string& key) const {
    if (IsKeyed(field)) {
      const FieldDescriptor* value = field->message_type()->FindFieldByName("value");
      return {{"type", "object"}, {"additionalProperties", Value(value, key)}};
    }
    if (field->is_repeated()) return {{"type", "array"}, {"items", One(field, key)}};
    return One(field, key);
  }

  // Of one value of a field, as an element of a list is.
  ordered_json One(const FieldDescriptor* field, const std::string& key) const {
    if (!IsMessage(field)) return ScalarSchema(field);
    const Descriptor* message = field->message_type();
    const FieldDescriptor* plain = PlainField(message);
    if (plain == nullptr) return Object(message, key);
    ordered_json either = ordered_json::array();
    either.push_back(ScalarSchema(plain));
    either.push_back(Whole(MapBesidePlain(message), key));
    return {{"anyOf", std::move(either)}};
  }

  const YamlMessage& defaults_;
  const std::map<std::string, std::string> values_;  // as YAML, which is JSON of plain ones
};

void AddKeys(const Descriptor& message, const std::string& section, std::vector<SchemaKey>* keys) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* field = message.field(i);
    const std::string key = absl::StrCat(section, field->name());
    if (IsMessage(field) && !field->is_repeated() && PlainField(field->message_type()) == nullptr) {
      AddKeys(*field->message_type(), absl::StrCat(key, "."), keys);
      continue;
    }
    std::vector<std::string> words;
    if (!field->is_repeated()) words = WordsOf(field);  // a list is none of its elements' words
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) words = {"true", "false"};
    keys->push_back({key, std::move(words), CommentOf(field)});
  }
}

}  // namespace

ordered_json YamlSchema(const YamlMessage& defaults, const std::string& title) {
  ordered_json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                         {"title", title}};
  schema.update(SchemaWriter(defaults).Object(defaults.message().GetDescriptor(), ""));
  return schema;
}

std::vector<SchemaKey> SchemaKeys(const Descriptor& message) {
  std::vector<SchemaKey> keys;
  AddKeys(message, "", &keys);
  return keys;
}

}  // namespace whetstone
