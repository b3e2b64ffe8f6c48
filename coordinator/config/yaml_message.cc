#include "coordinator/config/yaml_message.h"

#include <google/protobuf/descriptor.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/nearest.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// One walk over one source.
class Walker {
 public:
  // `place` of a line; `record` is told every key met.
  Walker(std::function<std::string(const YAML::Mark&)> place,
         std::function<void(const std::string& key, const std::string& place)> record)
      : place_(std::move(place)), record_(std::move(record)) {}

  absl::Status Map(const YAML::Node& node, const std::string& path, Message* message) {
    if (!node.IsMap()) {
      return Error(node, absl::StrCat(path.empty() ? "the campaign" : Quoted(path),
                                      " must be a map of keys, not ", Describe(node)));
    }
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        return Error(entry.first,
                     absl::StrCat("a key must be a word, not ", Describe(entry.first)));
      }
      const std::string name = entry.first.Scalar();
      const std::string key = path.empty() ? name : absl::StrCat(path, ".", name);
      const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(name);
      if (field == nullptr) return UnknownKey(entry.first, key, path, *message->GetDescriptor());
      if (!seen.insert(name).second) {
        return Error(entry.first, absl::StrCat(Quoted(key), " is given twice"));
      }
      record_(key, place_(entry.first.Mark()));
      RETURN_IF_ERROR(Field(entry.second, key, field, message));
    }
    return absl::OkStatus();
  }

 private:
  static std::string Quoted(const std::string& key) { return absl::StrCat("'", key, "'"); }

  static std::string Describe(const YAML::Node& node) {
    if (node.IsMap()) return "a map";
    if (node.IsSequence()) return "a list";
    if (node.IsNull()) return "empty";
    return Quoted(node.Scalar());
  }

  absl::Status Error(const YAML::Node& node, const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(place_(node.Mark()), ": ", what));
  }

  absl::Status UnknownKey(const YAML::Node& node, const std::string& key, const std::string& path,
                          const Descriptor& descriptor) const {
    std::vector<std::string> names;
    for (int i = 0; i < descriptor.field_count(); ++i) names.push_back(descriptor.field(i)->name());
    const std::string nearest = Nearest(node.Scalar(), names);
    return Error(node, absl::StrCat("unknown key ", Quoted(key), "; did you mean '",
                                    path.empty() ? nearest : absl::StrCat(path, ".", nearest),
                                    "'? Keys here: ", absl::StrJoin(names, ", ")));
  }

  absl::Status Field(const YAML::Node& node, const std::string& key, const FieldDescriptor* field,
                     Message* message) {
    const Reflection* reflection = message->GetReflection();
    if (node.IsNull()) {
      reflection->ClearField(message, field);
      return absl::OkStatus();
    }
    if (field->is_repeated()) {
      if (!node.IsSequence()) {
        return Error(node, absl::StrCat(Quoted(key), " must be a list, not ", Describe(node)));
      }
      reflection->ClearField(message, field);
      int i = 0;
      for (const YAML::Node& element : node) {
        const std::string element_key = absl::StrCat(key, "[", i++, "]");
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          RETURN_IF_ERROR(Map(element, element_key, reflection->AddMessage(message, field)));
        } else {
          RETURN_IF_ERROR(Scalar(element, element_key, field, message));
        }
      }
      return absl::OkStatus();
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return Map(node, key, reflection->MutableMessage(message, field));
    }
    return Scalar(node, key, field, message);
  }

  absl::Status Scalar(const YAML::Node& node, const std::string& key, const FieldDescriptor* field,
                      Message* message) {
    const auto wrong = [&](const char* type) {
      return Error(node, absl::StrCat(Quoted(key), " must be ", type, ", not ", Describe(node)));
    };
    // A quoted "4" is text, also where a number is wanted: YAML marks it with the tag "!".
    const bool plain = node.IsScalar() && node.Tag() != "!";
    const Reflection* reflection = message->GetReflection();
    const auto store = [&](auto set, auto add, auto value) {
      if (field->is_repeated()) {
        (reflection->*add)(message, field, value);
      } else {
        (reflection->*set)(message, field, value);
      }
    };
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING: {
        if (!node.IsScalar()) return wrong("text");
        store(&Reflection::SetString, &Reflection::AddString, node.Scalar());
        return absl::OkStatus();
      }
      case FieldDescriptor::CPPTYPE_BOOL: {
        if (!plain || (node.Scalar() != "true" && node.Scalar() != "false")) {
          return wrong("true or false");
        }
        store(&Reflection::SetBool, &Reflection::AddBool, node.Scalar() == "true");
        return absl::OkStatus();
      }
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        double value = 0;
        if (!plain || !absl::SimpleAtod(node.Scalar(), &value) || !std::isfinite(value)) {
          return wrong("a number");
        }
        store(&Reflection::SetDouble, &Reflection::AddDouble, value);
        return absl::OkStatus();
      }
      case FieldDescriptor::CPPTYPE_INT32: {
        int32_t value = 0;
        if (!plain || !absl::SimpleAtoi(node.Scalar(), &value)) return wrong("a whole number");
        store(&Reflection::SetInt32, &Reflection::AddInt32, value);
        return absl::OkStatus();
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        int64_t value = 0;
        if (!plain || !absl::SimpleAtoi(node.Scalar(), &value)) return wrong("a whole number");
        store(&Reflection::SetInt64, &Reflection::AddInt64, value);
        return absl::OkStatus();
      }
      case FieldDescriptor::CPPTYPE_UINT64: {
        uint64_t value = 0;
        if (!plain || !absl::SimpleAtoi(node.Scalar(), &value)) {
          return wrong("a whole number of at least 0");
        }
        store(&Reflection::SetUInt64, &Reflection::AddUInt64, value);
        return absl::OkStatus();
      }
      default:
        return absl::InternalError(absl::StrCat("no YAML form for the type of ", key));
    }
  }

  const std::function<std::string(const YAML::Mark&)> place_;
  const std::function<void(const std::string&, const std::string&)> record_;
};

absl::StatusOr<YAML::Node> LoadYaml(absl::string_view text, const std::string& name) {
  try {
    return YAML::Load(std::string(text));
  } catch (const YAML::ParserException& e) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ":", e.mark.line + 1, ": not valid YAML: ", e.msg));
  } catch (const YAML::Exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": not valid YAML: ", e.what()));
  }
}

// The shortest decimal that reads back as the same double.
std::string ShortestDouble(double value) {
  for (int digits = 15; digits <= 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    double back = 0;
    if (absl::SimpleAtod(text, &back) && back == value) return text;
  }
  return absl::StrFormat("%.17g", value);
}

// YAML's double quotes; C's octal escapes would read as something else there.
std::string QuotedText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if ((c >= 0 && c < ' ') || c == '\x7f') {
      absl::StrAppendFormat(&quoted, "\\x%02x", c);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string ScalarText(const Message& message, const FieldDescriptor* field, int index) {
  const Reflection* r = message.GetReflection();
  const bool list = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return QuotedText(list ? r->GetRepeatedString(message, field, index)
                             : r->GetString(message, field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return r->GetBool(message, field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return ShortestDouble(r->GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(r->GetInt32(message, field));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(r->GetInt64(message, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(r->GetUInt64(message, field));
    default:
      return "null";
  }
}

void Emit(const Message& message, const std::string& indent, bool first_inline, std::string* out) {
  const Reflection* r = message.GetReflection();
  bool first = first_inline;
  for (int f = 0; f < message.GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor* field = message.GetDescriptor()->field(f);
    const bool sub = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (sub && !field->is_repeated() && !r->HasField(message, field)) continue;
    if (!first) out->append(indent);
    first = false;
    absl::StrAppend(out, field->name(), ":");
    if (field->is_repeated() && sub) {
      const int count = r->FieldSize(message, field);
      out->append(count == 0 ? " []\n" : "\n");
      for (int i = 0; i < count; ++i) {
        absl::StrAppend(out, indent, "  - ");
        Emit(r->GetRepeatedMessage(message, field, i), indent + "    ", true, out);
      }
    } else if (field->is_repeated()) {
      std::vector<std::string> items;
      for (int i = 0; i < r->FieldSize(message, field); ++i) {
        items.push_back(ScalarText(message, field, i));
      }
      absl::StrAppend(out, " [", absl::StrJoin(items, ", "), "]\n");
    } else if (sub) {
      std::string inner;
      Emit(r->GetMessage(message, field), indent + "  ", false, &inner);
      absl::StrAppend(out, inner.empty() ? " {}\n" : "\n", inner);
    } else {
      absl::StrAppend(out, " ", ScalarText(message, field, 0), "\n");
    }
  }
}

}  // namespace

absl::Status YamlMessage::Merge(absl::string_view yaml, const std::string& name) {
  ASSIGN_OR_RETURN(const YAML::Node root, LoadYaml(yaml, name));
  const bool count_as_given = merges_++ > 0;
  last_name_ = name;
  if (root.IsNull()) return absl::OkStatus();
  Walker walker([&](const YAML::Mark& mark) { return absl::StrCat(name, ":", mark.line + 1); },
                [&](const std::string& key, const std::string& place) {
                  if (count_as_given) given_[key] = place;
                });
  return walker.Map(root, "", message_);
}

absl::Status YamlMessage::Set(const std::string& assignment) {
  const std::string place = absl::StrCat("--set ", assignment);
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": must look like KEY=VALUE, as in --set train.steps=4"));
  }
  const std::vector<std::string> keys = absl::StrSplit(assignment.substr(0, equals), '.');
  ASSIGN_OR_RETURN(YAML::Node node, LoadYaml(assignment.substr(equals + 1), place));
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    YAML::Node map(YAML::NodeType::Map);
    map.force_insert(*key, node);
    node.reset(map);
  }
  Walker walker([&](const YAML::Mark&) { return place; },
                [&](const std::string& key, const std::string& where) { given_[key] = where; });
  return walker.Map(node, "", message_);
}

std::string YamlMessage::Where(const std::string& key) const {
  for (std::string at = key; !at.empty();) {
    const auto it = given_.find(at);
    if (it != given_.end()) return it->second;
    const size_t dot = at.find_last_of(".[");
    at = dot == std::string::npos ? "" : at.substr(0, dot);
  }
  return last_name_;
}

bool YamlMessage::Given(const std::string& key) const {
  const auto it = given_.lower_bound(key);
  return it != given_.end() && (it->first == key || absl::StartsWith(it->first, key + ".") ||
                                absl::StartsWith(it->first, key + "["));
}

std::string MessageToYaml(const google::protobuf::Message& message) {
  std::string out;
  Emit(message, "", false, &out);
  return out;
}

}  // namespace whetstone
