#include "coordinator/authoring/rows_parameter.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "coordinator/prompt/identifiers.h"

namespace whetstone {
namespace {

// Returns the element of "std::vector<std::vector<T>>"; empty: it is something else.
std::string ElementOfRows(absl::string_view type) {
  for (int depth = 0; depth < 2; ++depth) {
    type = absl::StripAsciiWhitespace(type);
    absl::ConsumePrefix(&type, "std::");
    if (!absl::ConsumePrefix(&type, "vector")) return "";
    type = absl::StripAsciiWhitespace(type);
    if (!absl::ConsumePrefix(&type, "<") || !absl::ConsumeSuffix(&type, ">")) return "";
  }
  type = absl::StripAsciiWhitespace(type);
  const bool known = type != "bool" && type.find_first_of("<>,*&") == absl::string_view::npos;
  return known ? std::string(type) : "";
}

// Whether nothing happens when it is left out.
bool IsPure(absl::string_view code) {
  return !absl::StrContains(code, "++") && !absl::StrContains(code, "--") &&
         std::all_of(code.begin(), code.end(), [](char c) {
           return IsWordChar(c) || absl::StrContains(" +-*.", std::string(1, c));
         });
}

class Rows {
 public:
  Rows(CodeText* text, const GivenParameter& given)
      : text_(*text),
        name_(given.name),
        rows_(text->Fresh(given.name + "_rows")),
        cols_(text->Fresh(given.name + "_cols")) {}

  // Whether all that is done at these places can be said by the pointer; edits() are how.
  bool LookAt(const std::vector<size_t>& places) {
    return std::all_of(places.begin(), places.end(), [&](size_t at) { return Look(at); });
  }

  const std::vector<TextEdit>& edits() const { return edits_; }
  const std::string& rows() const { return rows_; }
  const std::string& cols() const { return cols_; }

 private:
  bool Look(size_t at) {
    const std::string& masked = text_.masked();
    const size_t next = text_.Next(at + name_.size());
    if (masked[next] == '[') {
      const size_t close = text_.ClosingBracket(next);
      if (close == std::string::npos) return false;
      const size_t second = text_.Next(close + 1);
      if (masked[second] == '[') {
        const size_t end = text_.ClosingBracket(second);
        if (end == std::string::npos) return false;
        edits_.push_back({next, next + 1, "[("});
        edits_.push_back({close, second + 1, absl::StrCat(") * ", cols_, " + (")});
        edits_.push_back({end, end + 1, ")]"});
        return true;
      }
      return IsPure(masked.substr(next + 1, close - next - 1)) &&
             Member(at, close + 1, {{".size()", cols_}});
    }
    return Member(at, next,
                  {{".size()", rows_},
                   {".empty()", absl::StrCat("(", rows_, " == 0)")},
                   {".front().size()", cols_},
                   {".back().size()", cols_}});
  }

  // What stands from `at` on, and goes on at `begin` with one of these, becomes that.
  bool Member(size_t at, size_t begin,
              const std::vector<std::pair<std::string, std::string>>& known) {
    for (const auto& [text, becomes] : known) {
      if (text_.masked().compare(begin, text.size(), text) != 0) continue;
      edits_.push_back({at, begin + text.size(), becomes});
      return true;
    }
    return false;
  }

  const CodeText& text_;
  const std::string name_;
  const std::string rows_;
  const std::string cols_;
  std::vector<TextEdit> edits_;
};

}  // namespace

std::optional<RowsParameter> AsRows(CodeText* text, const SourceTypes& types,
                                    const CppFunction& function, const GivenParameter& given) {
  const GivenType type = ReadGivenType(given.type);
  const std::string element = ElementOfRows(type.core);
  if (element.empty() || !types.IsPlain(element)) return std::nullopt;
  Rows rows(text, given);
  const auto uses = text->UsesOf(given.name, function.open, function.close);
  const bool by_pointer = type.reference && uses && rows.LookAt(*uses) &&
                          text->CopyingLambda(function.open, function.close) == std::string::npos;
  if (!by_pointer && type.reference && !type.is_const) return std::nullopt;
  RowsParameter made;
  const std::string name = by_pointer ? given.name : text->Fresh(given.name + "_given");
  made.parameters = absl::StrCat(type.is_const || !type.reference ? "const " : "", element, "* ",
                                 name, ", size_t ", rows.rows(), ", size_t ", rows.cols());
  made.became = absl::StrCat(by_pointer ? "" : "made of ", "'", name, "', '", rows.rows(),
                             "' and '", rows.cols(), "', of equally long rows");
  if (by_pointer) {
    made.edits = rows.edits();
    return made;
  }
  const std::string at = text->Fresh(given.name + "_at");
  made.begin =
      absl::StrCat("\n  std::vector<std::vector<", element, ">> ", given.name, "(", rows.rows(),
                   ");\n  for (size_t ", at, " = 0; ", at, " < ", rows.rows(), "; ++", at, ") ",
                   given.name, "[", at, "].assign(", name, " + ", at, " * ", rows.cols(), ", ",
                   name, " + (", at, " + 1) * ", rows.cols(), ");");
  return made;
}

}  // namespace whetstone
