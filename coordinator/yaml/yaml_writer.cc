#include "coordinator/yaml/yaml_writer.h"

#include <google/protobuf/descriptor.h>

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace whetstone {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Returns the shortest decimal that reads back as the same double.
std::string ShortestDouble(double value) {
  for (int digits = 15; digits <= 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    double back = 0;
    if (absl::SimpleAtod(text, &back) && back == value) return text;
  }
  return absl::StrFormat("%.17g", value);
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
      return absl::StrCat(list ? r->GetRepeatedInt32(message, field, index)
                               : r->GetInt32(message, field));
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

void Flatten(const Message& message, const std::string& section,
             std::map<std::string, std::string>* flat) {
  const Reflection* r = message.GetReflection();
  for (int f = 0; f < message.GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor* field = message.GetDescriptor()->field(f);
    const bool sub = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const std::string key = absl::StrCat(section, field->name());
    if (!field->is_repeated() && !sub) {
      (*flat)[key] = ScalarText(message, field, 0);
    } else if (!field->is_repeated()) {
      if (r->HasField(message, field)) Flatten(r->GetMessage(message, field), key + ".", flat);
    } else {
      std::vector<std::string> items;
      for (int i = 0; i < r->FieldSize(message, field); ++i) {
        items.push_back(
            sub ? absl::StrCat("{",
                               absl::StrJoin(FlatYaml(r->GetRepeatedMessage(message, field, i)),
                                             ", ", absl::PairFormatter(": ")),
                               "}")
                : ScalarText(message, field, i));
      }
      (*flat)[key] = absl::StrCat("[", absl::StrJoin(items, ", "), "]");
    }
  }
}

}  // namespace

std::map<std::string, std::string> FlatYaml(const Message& message) {
  std::map<std::string, std::string> flat;
  Flatten(message, "", &flat);
  return flat;
}

// C's octal escapes would read as something else in YAML.
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

std::string MessageToYaml(const google::protobuf::Message& message) {
  std::string out;
  Emit(message, "", false, &out);
  return out;
}

}  // namespace whetstone
