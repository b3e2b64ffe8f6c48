#include "coordinator/yaml/yaml_message.h"

#include <google/protobuf/descriptor.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "coordinator/yaml/call_commas.h"
#include "coordinator/yaml/message_shape.h"
#include "whetstone/v1/yaml.pb.h"

namespace whetstone {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Quoted(const std::string& text) { return absl::StrCat("'", text, "'"); }

// A Walker makes one walk over one source.
class Walker {
 public:
  // `record` is told every key met, and every element of a list, and where it stands.
  Walker(const YamlDialect& dialect, const YamlSource& source,
         std::function<void(const std::string& key, const YAML::Mark& mark)> record)
      : dialect_(dialect), source_(source), record_(std::move(record)) {}

  absl::Status Map(const YAML::Node& node, const std::string& path, Message* message) {
    const Descriptor& descriptor = *message->GetDescriptor();
    return Keys(node, path, [&](const YAML::Node& name, const std::string& key, YAML::Node value) {
      const FieldDescriptor* field = descriptor.FindFieldByName(Text(name));
      if (field == nullptr) return UnknownName(name, path, descriptor);
      return Field(value, key, field, message);
    });
  }

 private:
  std::string Text(const YAML::Node& node) const {
    return dialect_.calls ? ShowCallCommas(node.Scalar()) : node.Scalar();
  }

  std::string Describe(const YAML::Node& node) const {
    if (node.IsMap()) return "a map";
    if (node.IsSequence()) return "a list";
    if (node.IsNull()) return "empty";
    return Quoted(Text(node));
  }

  void Record(const std::string& key, const YAML::Mark& mark) {
    last_ = mark;
    record_(key, mark);
  }

  absl::Status Error(const YAML::Mark& mark, const std::string& what) const {
    return ErrorAt(source_.At(mark.line, mark.column), what);
  }
  absl::Status Error(const YAML::Node& node, const std::string& what) const {
    return Error(node.Mark(), what);
  }

  absl::Status MustBe(const YAML::Node& node, const std::string& key,
                      const std::string& what) const {
    // The mark of an empty value is that of what follows: the line of its key says more.
    return Error(node.IsNull() ? last_ : node.Mark(),
                 absl::StrCat(key.empty() ? "the top level" : Quoted(key), " must be ", what,
                              ", not ", Describe(node)));
  }

  absl::Status MustBeOneOf(const YAML::Node& node, const std::string& key,
                           const std::vector<std::string>& words) const {
    if (!node.IsScalar()) return MustBe(node, key, "one of " + absl::StrJoin(words, ", "));
    return Error(node, NotOneOf(key, Text(node), words));
  }

  absl::Status UnknownName(const YAML::Node& node, const std::string& path,
                           const Descriptor& descriptor) const {
    return Error(node, UnknownKey(path, Text(node), KeysOf(&descriptor)));
  }

  absl::Status CheckSize(const YAML::Node& node, const std::string& key) const {
    if (dialect_.elements_max == 0 || node.size() <= dialect_.elements_max) return absl::OkStatus();
    return Error(node, absl::StrCat(key.empty() ? "the top level" : Quoted(key), " has more than ",
                                    dialect_.elements_max, " elements"));
  }

  // Visits the entries of a map in their order, each by the node of the key, its path and the
  // value.
  absl::Status Keys(const YAML::Node& node, const std::string& path,
                    absl::FunctionRef<absl::Status(const YAML::Node& name, const std::string& key,
                                                   YAML::Node value)>
                        visit) {
    if (!node.IsMap()) return MustBe(node, path, "a map of keys");
    RETURN_IF_ERROR(CheckSize(node, path));
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        return Error(entry.first,
                     absl::StrCat("a key must be a word, not ", Describe(entry.first)));
      }
      const std::string name = Text(entry.first);
      const std::string key = path.empty() ? name : absl::StrCat(path, ".", name);
      if (!seen.insert(name).second) {
        return Error(entry.first, absl::StrCat(Quoted(key), " is given twice"));
      }
      Record(key, entry.first.Mark());
      RETURN_IF_ERROR(visit(entry.first, key, entry.second));
    }
    return absl::OkStatus();
  }

  absl::Status Field(const YAML::Node& node, const std::string& key, const FieldDescriptor* field,
                     Message* message) {
    const Reflection* reflection = message->GetReflection();
    if (node.IsNull() && dialect_.null_clears) {
      reflection->ClearField(message, field);
      return absl::OkStatus();
    }
    if (field->is_repeated()) {
      reflection->ClearField(message, field);
      return IsKeyed(field) ? Keyed(node, key, field, message) : List(node, key, field, message);
    }
    if (IsMessage(field)) {
      return SubMessage(node, key, reflection->MutableMessage(message, field));
    }
    return Scalar(node, key, field, message);
  }

  absl::Status List(const YAML::Node& node, const std::string& key, const FieldDescriptor* field,
                    Message* message) {
    if (!node.IsSequence()) return MustBe(node, key, "a list, as in [a, b]");
    RETURN_IF_ERROR(CheckSize(node, key));
    int i = 0;
    for (const YAML::Node& element : node) {
      const std::string element_key = absl::StrCat(key, "[", i++, "]");
      Record(element_key, element.Mark());
      if (IsMessage(field)) {
        Message* added = message->GetReflection()->AddMessage(message, field);
        RETURN_IF_ERROR(SubMessage(element, element_key, added));
      } else {
        RETURN_IF_ERROR(Scalar(element, element_key, field, message));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Keyed(const YAML::Node& node, const std::string& path, const FieldDescriptor* field,
                     Message* message) {
    const FieldDescriptor* key_field = field->message_type()->FindFieldByName("key");
    const FieldDescriptor* value_field = field->message_type()->FindFieldByName("value");
    return Keys(node, path, [&](const YAML::Node& name, const std::string& key, YAML::Node value) {
      Message* entry = message->GetReflection()->AddMessage(message, field);
      entry->GetReflection()->SetString(entry, key_field, Text(name));
      return Field(value, key, value_field, entry);
    });
  }

  absl::Status SubMessage(const YAML::Node& node, const std::string& key, Message* message) {
    const Descriptor* descriptor = message->GetDescriptor();
    const FieldDescriptor* plain = PlainField(descriptor);
    if (plain == nullptr) return Map(node, key, message);
    if (!node.IsMap()) return Scalar(node, key, plain, message);
    return Field(node, key, MapBesidePlain(descriptor), message);
  }

  absl::Status Scalar(const YAML::Node& node, const std::string& key, const FieldDescriptor* field,
                      Message* message) {
    const auto wrong = [&](const char* type) {
      const std::string& must_be = field->options().GetExtension(v1::must_be);
      return MustBe(node, key, must_be.empty() ? type : must_be);
    };
    const std::string text = Text(node);
    // A quoted "4" is text, also where a number is wanted: YAML marks it with the tag "!".
    const bool plain = node.IsScalar() && !(dialect_.quotes_matter && node.Tag() == "!");
    const Reflection* reflection = message->GetReflection();
    const auto store = [&](auto set, auto add, auto value) {
      if (field->is_repeated()) {
        (reflection->*add)(message, field, value);
      } else {
        (reflection->*set)(message, field, value);
      }
      return absl::OkStatus();
    };
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        if (!node.IsScalar()) return wrong("text");
        return store(&Reflection::SetString, &Reflection::AddString, text);
      case FieldDescriptor::CPPTYPE_BOOL:
        if (!plain || (text != "true" && text != "false")) return wrong("true or false");
        return store(&Reflection::SetBool, &Reflection::AddBool, text == "true");
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        double value = 0;
        if (!plain || !absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
          return wrong("a number");
        }
        return store(&Reflection::SetDouble, &Reflection::AddDouble, value);
      }
      case FieldDescriptor::CPPTYPE_INT32: {
        int32_t value = 0;
        if (!plain || !absl::SimpleAtoi(text, &value)) return wrong("a whole number");
        return store(&Reflection::SetInt32, &Reflection::AddInt32, value);
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        int64_t value = 0;
        if (!plain || !absl::SimpleAtoi(text, &value)) return wrong("a whole number");
        return store(&Reflection::SetInt64, &Reflection::AddInt64, value);
      }
      case FieldDescriptor::CPPTYPE_UINT64: {
        uint64_t value = 0;
        if (!plain || !absl::SimpleAtoi(text, &value)) return wrong("a whole number of at least 0");
        return store(&Reflection::SetUInt64, &Reflection::AddUInt64, value);
      }
      case FieldDescriptor::CPPTYPE_ENUM: {
        for (int i = 0; i < field->enum_type()->value_count(); ++i) {
          const EnumValueDescriptor* value = field->enum_type()->value(i);
          if (!node.IsScalar() || text.empty() || EnumWord(value) != text) continue;
          return store(&Reflection::SetEnum, &Reflection::AddEnum, value);
        }
        return MustBeOneOf(node, key, WordsOf(field));
      }
      default:
        return absl::InternalError(absl::StrCat("no YAML form for the type of ", key));
    }
  }

  const YamlDialect& dialect_;
  const YamlSource& source_;
  const std::function<void(const std::string&, const YAML::Mark&)> record_;
  // The key or element that was recorded last stands at `last_`.
  YAML::Mark last_;
};

// As YamlSource has it: a `first_line` of 0 is that of no file.
absl::StatusOr<YamlSource> MakeSource(absl::string_view text, const std::string& name,
                                      int first_line, const YamlDialect& dialect) {
  std::string yaml(text);
  if (dialect.calls) {
    ASSIGN_OR_RETURN(yaml, HideCallCommas(text, name, first_line));
  }
  return YamlSource(name, std::move(yaml), first_line, dialect.calls);
}

absl::StatusOr<YAML::Node> LoadYaml(const YamlSource& source) {
  try {
    return YAML::Load(source.text());
  } catch (const YAML::Exception& e) {
    return ErrorAt(source.At(e.mark.line, e.mark.column), absl::StrCat("not valid YAML: ", e.msg));
  }
}

}  // namespace

std::string NotOneOf(absl::string_view key, absl::string_view text,
                     const std::vector<std::string>& words) {
  return absl::StrCat("'", key, "' must be one of ", absl::StrJoin(words, ", "), ", not '", text,
                      "'; did you mean '", Nearest(text, words), "'?");
}

std::string UnknownKey(const std::string& section, absl::string_view name,
                       const std::vector<std::string>& known) {
  const std::string prefix = section.empty() ? "" : absl::StrCat(section, ".");
  return absl::StrCat("unknown key '", prefix, name, "'; did you mean '", prefix,
                      Nearest(name, known), "'? Keys here: ", absl::StrJoin(known, ", "));
}

absl::Status YamlMessage::Read(absl::string_view yaml, const std::string& name, int first_line,
                               bool given) {
  ASSIGN_OR_RETURN(const YamlSource source, MakeSource(yaml, name, first_line, dialect_));
  ASSIGN_OR_RETURN(const YAML::Node root, LoadYaml(source));
  whole_ = first_line > 1 ? absl::StrCat(name, ":", first_line) : name;
  if (root.IsNull()) return absl::OkStatus();
  const auto record = [&](const std::string& key, const YAML::Mark& mark) {
    if (given) given_[key] = {sources_.size(), mark.line, mark.column};
  };
  const absl::Status status = Walker(dialect_, source, record).Map(root, "", message_);
  sources_.push_back(source);
  return status;
}

absl::Status YamlMessage::MergeDefaults(absl::string_view yaml, const std::string& name) {
  return Read(yaml, name, 1, /*given=*/false);
}

absl::Status YamlMessage::Merge(absl::string_view yaml, const std::string& name, int first_line) {
  return Read(yaml, name, first_line, /*given=*/true);
}

absl::Status YamlMessage::Set(const std::string& assignment) {
  const std::string where = absl::StrCat("--set ", assignment);
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": must look like KEY=VALUE, as in --set train.steps=4"));
  }
  const std::vector<std::string> keys = absl::StrSplit(assignment.substr(0, equals), '.');
  ASSIGN_OR_RETURN(const YamlSource source,
                   MakeSource(assignment.substr(equals + 1), where, /*first_line=*/0, dialect_));
  ASSIGN_OR_RETURN(YAML::Node node, LoadYaml(source));
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    YAML::Node map(YAML::NodeType::Map);
    map.force_insert(*key, node);
    node.reset(map);
  }
  const auto record = [&](const std::string& key, const YAML::Mark& mark) {
    const Position at = {sources_.size(), mark.line, mark.column};
    // A section around the key stays where the file has it.
    if (key.size() < equals) {
      given_.emplace(key, at);
    } else {
      given_[key] = at;
    }
  };
  const absl::Status status = Walker(dialect_, source, record).Map(node, "", message_);
  sources_.push_back(source);
  return status;
}

SourcePlace YamlMessage::Place(const std::string& key) const {
  for (std::string at = key; !at.empty();) {
    const auto it = given_.find(at);
    if (it != given_.end()) {
      const Position& position = it->second;
      return sources_[position.source].At(position.line, position.column);
    }
    const size_t dot = at.find_last_of(".[");
    at = dot == std::string::npos ? "" : at.substr(0, dot);
  }
  return {whole_, "", 0, 0};
}

}  // namespace whetstone
