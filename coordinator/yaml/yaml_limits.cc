#include "coordinator/yaml/yaml_limits.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/source_place.h"
#include "common/status_macros.h"
#include "coordinator/yaml/message_shape.h"

namespace whetstone {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Says what a number must be, "at least 0 and below 1"; empty where the value is that.
std::string BrokenBounds(const NumberBounds& bounds, double value) {
  const bool low =
      (bounds.at_least && value < *bounds.at_least) || (bounds.above && value <= *bounds.above);
  const bool high =
      (bounds.at_most && value > *bounds.at_most) || (bounds.below && value >= *bounds.below);
  if (!low && !high) return "";
  if (bounds.at_least && bounds.at_most) {
    return absl::StrCat(*bounds.at_least, " to ", *bounds.at_most);
  }
  std::string lower;
  if (bounds.at_least) lower = absl::StrCat("at least ", *bounds.at_least);
  if (bounds.above) lower = absl::StrCat("greater than ", *bounds.above);
  std::string upper;
  if (bounds.at_most) upper = absl::StrCat("at most ", *bounds.at_most);
  if (bounds.below) upper = absl::StrCat("below ", *bounds.below);
  return absl::StrCat(lower, lower.empty() || upper.empty() ? "" : " and ", upper);
}

class LimitChecker {
 public:
  explicit LimitChecker(const YamlMessage& source) : source_(source) {}

  absl::Status Check(const Message& message, const std::string& path) const {
    const google::protobuf::Descriptor* descriptor = message.GetDescriptor();
    // Of an entry, and of a plain value, `path` is the name already.
    const bool named = !IsEntry(descriptor) && PlainField(descriptor) == nullptr;
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* field = descriptor->field(i);
      const std::string key = !named         ? path
                              : path.empty() ? field->name()
                                             : absl::StrCat(path, ".", field->name());
      RETURN_IF_ERROR(Field(message, field, key));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Field(const Message& message, const FieldDescriptor* field,
                     const std::string& key) const {
    const Reflection* reflection = message.GetReflection();
    if (!field->is_repeated()) {
      // What is not `optional` is held to its limits where `null` took it out, too.
      if (field->has_optional_keyword() && !reflection->HasField(message, field)) {
        return absl::OkStatus();
      }
      return IsMessage(field) ? Check(reflection->GetMessage(message, field), key)
                              : Value(message, field, /*index=*/-1, key);
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      const std::string element = absl::StrCat(key, "[", i, "]");
      if (!IsMessage(field)) {
        RETURN_IF_ERROR(Value(message, field, i, element));
        continue;
      }
      const Message& each = reflection->GetRepeatedMessage(message, field, i);
      RETURN_IF_ERROR(Check(each, IsKeyed(field) ? absl::StrCat(key, ".", KeyOf(each)) : element));
    }
    return absl::OkStatus();
  }

  static std::string KeyOf(const Message& entry) {
    return entry.GetReflection()->GetString(entry, entry.GetDescriptor()->FindFieldByName("key"));
  }

  // `index` is that of an element of a list, else negative.
  absl::Status Value(const Message& message, const FieldDescriptor* field, int index,
                     const std::string& key) const {
    const Reflection* r = message.GetReflection();
    const bool list = index >= 0;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return Text(
            field, key,
            list ? r->GetRepeatedString(message, field, index) : r->GetString(message, field));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Number(
            field, key,
            list ? r->GetRepeatedDouble(message, field, index) : r->GetDouble(message, field));
      case FieldDescriptor::CPPTYPE_INT32:
        return Number(
            field, key,
            list ? r->GetRepeatedInt32(message, field, index) : r->GetInt32(message, field));
      case FieldDescriptor::CPPTYPE_INT64:
        return Number(field, key,
                      static_cast<double>(list ? r->GetRepeatedInt64(message, field, index)
                                               : r->GetInt64(message, field)));
      default:
        return absl::OkStatus();
    }
  }

  absl::Status Text(const FieldDescriptor* field, const std::string& key,
                    const std::string& text) const {
    const std::vector<std::string> words = WordsOf(field);
    if (words.empty() || std::find(words.begin(), words.end(), text) != words.end()) {
      return absl::OkStatus();
    }
    return ErrorAt(source_.Place(key), NotOneOf(key, text, words));
  }

  absl::Status Number(const FieldDescriptor* field, const std::string& key, double value) const {
    const std::string must_be = BrokenBounds(BoundsOf(field), value);
    if (must_be.empty()) return absl::OkStatus();
    return ErrorAt(source_.Place(key),
                   absl::StrCat("'", key, "' must be ", must_be, ", not ", value));
  }

  const YamlMessage& source_;
};

}  // namespace

absl::Status CheckLimits(const YamlMessage& source) {
  return LimitChecker(source).Check(source.message(), "");
}

}  // namespace whetstone
