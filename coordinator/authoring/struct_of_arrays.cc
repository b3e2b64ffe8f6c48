#include "coordinator/authoring/struct_of_arrays.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "coordinator/authoring/code_text.h"
#include "coordinator/authoring/given_parameter.h"
#include "coordinator/authoring/source_types.h"

namespace whetstone {
namespace {

// Whether a field's type is no number, but what a problem hands over as an array.
bool IsArray(const std::string& type) {
  return absl::EndsWith(type, "*") || absl::StrContains(type, "vector") ||
         !ReadGivenType(type).element.empty();
}

// What a function does with one of its parameters, by fields.
class Apart {
 public:
  Apart(CodeText* text, const SourceTypes& types, const CppFunction& function,
        const GivenParameter& given)
      : text_(*text), function_(function), given_(given) {
    std::string type = given.type;
    absl::string_view view = type;
    reference_ = absl::ConsumeSuffix(&view, "&");
    view = absl::StripAsciiWhitespace(view);
    is_const_ = absl::ConsumePrefix(&view, "const ") || absl::ConsumeSuffix(&view, " const");
    const std::string name(absl::StripAsciiWhitespace(view));
    const std::vector<SourceField>& fields = types.FieldsOf(name);
    for (const SourceField& field : fields) {
      if (field.extents.empty()) types_[field.name] = field.type;
    }
    const bool holds = std::any_of(types_.begin(), types_.end(),
                                   [](const auto& field) { return IsArray(field.second); });
    // What is written to a copy is seen by nobody.
    if (holds && (reference_ || is_const_)) Look(text);
  }

  // The parameters for the fields that are used; empty: it stays as it is.
  const std::vector<std::string>& parameters() const { return parameters_; }
  const std::vector<TextEdit>& edits() const { return edits_; }

 private:
  void Look(CodeText* text) {
    const auto uses = text_.UsesOf(given_.name, function_.open, function_.close);
    if (!uses) return;
    std::map<std::string, std::string> names;
    std::vector<std::string> parameters;
    for (const size_t at : *uses) {
      const size_t dot = text_.Next(at + given_.name.size());
      const size_t begin = text_.Next(dot + 1);
      const size_t end = text_.WordEnd(begin);
      const std::string field = text_.masked().substr(begin, end - begin);
      const auto type = types_.find(field);
      if (text_.masked()[dot] != '.' || type == types_.end()) return;
      if (names.count(field) == 0) {
        names[field] = text->Fresh(absl::StrCat(given_.name, "_", field));
        // A number that is only read is handed over as one.
        const bool value =
            absl::EndsWith(type->second, "*") || (is_const_ && !IsArray(type->second));
        parameters.push_back(absl::StrCat(is_const_ && !value ? "const " : "", type->second,
                                          value ? " " : "& ", names[field]));
      }
      edits_.push_back({at, end, names[field]});
    }
    parameters_ = std::move(parameters);
  }

  const CodeText& text_;
  const CppFunction& function_;
  const GivenParameter& given_;
  bool reference_ = false;
  bool is_const_ = false;
  std::map<std::string, std::string> types_;  // of fields, by name
  std::vector<std::string> parameters_;
  std::vector<TextEdit> edits_;
};

}  // namespace

std::optional<FieldsApart> WithFieldsApart(const std::string& code, const CppFunction& function) {
  CodeText text(code);
  const std::string& masked = text.masked();
  const std::optional<FunctionHead> head = HeadOf(text, function);
  if (!head) return std::nullopt;
  const size_t open = head->open;
  const size_t close = head->close;
  const SourceTypes types(code);
  FieldsApart made;
  std::vector<TextEdit> edits;
  size_t begin = open + 1;
  for (const std::string& part : SplitParameters(masked.substr(open + 1, close - open - 1))) {
    const GivenParameter given = ReadParameter(part);
    const size_t end = begin + part.size();
    if (!given.name.empty()) {
      const Apart apart(&text, types, function, given);
      if (!apart.parameters().empty()) {
        edits.push_back(
            {begin, end,
             absl::StrCat(begin > open + 1 ? " " : "", absl::StrJoin(apart.parameters(), ", "))});
        edits.insert(edits.end(), apart.edits().begin(), apart.edits().end());
        made.changes.push_back(absl::StrCat("'", given.name, "' (", given.type,
                                            ") is a parameter for each field that is used"));
      }
    }
    begin = end + 1;
  }
  if (made.changes.empty()) return std::nullopt;
  std::optional<std::string> edited = Edited(code, std::move(edits));
  if (!edited) return std::nullopt;
  made.code = *std::move(edited);
  return made;
}

}  // namespace whetstone
