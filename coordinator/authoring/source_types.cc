#include "coordinator/authoring/source_types.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/problem/struct_type.h"
#include "coordinator/authoring/code_text.h"
#include "coordinator/authoring/given_parameter.h"
#include "coordinator/prompt/identifiers.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

// Whether a member's text is a function's: its name stands before the first bracket.
bool IsFunction(const std::string& text) {
  const size_t open = text.find('(');
  if (open == std::string::npos || open == 0 || text.find_first_of("={[") < open) return false;
  const std::string head(absl::StripAsciiWhitespace(text.substr(0, open)));
  const bool in_template =
      std::count(head.begin(), head.end(), '<') != std::count(head.begin(), head.end(), '>');
  return !head.empty() && IsWordChar(head.back()) && !in_template &&
         !absl::EndsWith(head, "alignas") && !absl::EndsWith(head, "decltype");
}

// Returns the declarations in a struct's braces, without functions and labels; what a brace opens
// belongs to what stands before it.
std::vector<std::string> DeclarationsIn(const std::string& inside) {
  std::vector<std::string> declarations;
  std::string text;
  int depth = 0;
  for (size_t at = 0; at < inside.size(); ++at) {
    const char c = inside[at];
    if (c == '}' && --depth == 0 && IsFunction(text)) {
      text.clear();  // its body
      continue;
    }
    if (c == '{') ++depth;
    const bool scope =
        (at > 0 && inside[at - 1] == ':') || (at + 1 < inside.size() && inside[at + 1] == ':');
    if (c == ':' && depth == 0 && !scope && !absl::StrContains(text, "(")) {
      text.clear();
    } else if (c == ';' && depth == 0) {
      if (!IsFunction(text)) declarations.emplace_back(absl::StripAsciiWhitespace(text));
      text.clear();
    } else {
      text += c;
    }
  }
  return declarations;
}

// Reads "std::vector<double> x, y", "int n = 3", "double r[3]"; false: it is no field.
bool ReadFields(const std::string& declaration, std::vector<SourceField>* fields) {
  std::string type;
  for (const std::string& part : SplitParameters(declaration)) {
    std::string text = part.substr(0, part.find_first_of("={"));
    if (!type.empty()) text = absl::StrCat(type, " ", absl::StripAsciiWhitespace(text));
    SourceField field;
    for (size_t open = text.find('['); open != std::string::npos; open = text.find('[', open + 1))
      field.extents.push_back(text.substr(open + 1, text.find(']', open) - open - 1));
    const GivenParameter given = ReadParameter(text.substr(0, text.find('[')));
    if (given.name.empty() || given.type.empty() || absl::EndsWith(given.type, "&") ||
        absl::StrContains(given.type, "("))
      return false;
    field.type = type = given.type;
    field.name = given.name;
    fields->push_back(std::move(field));
  }
  return true;
}

bool Begins(const std::string& declaration, const char* word) {
  return absl::StartsWith(declaration, absl::StrCat(word, " "));
}

}  // namespace

SourceTypes::SourceTypes(const std::string& code) {
  for (const StructDefinition& each : FindStructs(code)) {
    if (each.type.has_value()) plain_structs_.push_back(each.name);
  }
  const CodeText text(code);
  const std::string& masked = text.masked();
  for (const char* kind : {"struct", "class", "enum"}) {
    for (size_t at = masked.find(kind); at != std::string::npos; at = masked.find(kind, at + 1)) {
      const size_t after = at + std::string(kind).size();
      if ((at > 0 && IsWordChar(masked[at - 1])) || IsWordChar(masked[after])) continue;
      const size_t open = masked.find_first_of("{;()", after);
      if (open == std::string::npos || masked[open] != '{') continue;
      const size_t close = text.ClosingBrace(open);
      if (close == std::string::npos) continue;
      const std::string inside = masked.substr(open + 1, close - open - 1);
      std::string head(absl::StripAsciiWhitespace(masked.substr(after, open - after)));
      const bool is_enum = kind == absl::string_view("enum");
      absl::string_view name = head;
      if (is_enum) {
        if (!absl::ConsumePrefix(&name, "class ")) absl::ConsumePrefix(&name, "struct ");
        name = name.substr(0, name.find(':'));
      } else {
        absl::ConsumeSuffix(&name, " final");
      }
      const std::string own(absl::StripAsciiWhitespace(name));
      if (own.empty() || !std::all_of(own.begin(), own.end(), IsWordChar)) continue;
      if (is_enum) {
        ReadEnum(own, inside);
      } else if (!absl::StrContains(inside, "private:") &&
                 !absl::StrContains(inside, "protected:") &&
                 (kind == absl::string_view("struct") || absl::StrContains(inside, "public:"))) {
        ReadStruct(own, inside);
      }
    }
  }
}

void SourceTypes::ReadStruct(const std::string& name, const std::string& inside) {
  std::vector<SourceField> fields;
  for (const std::string& declaration : DeclarationsIn(inside)) {
    if (Begins(declaration, "static") || Begins(declaration, "using") ||
        Begins(declaration, "enum") || Begins(declaration, "friend") ||
        absl::StrContains(declaration, "operator") || declaration.empty())
      continue;
    if (!ReadFields(declaration, &fields)) return;
  }
  structs_[name] = std::move(fields);
}

void SourceTypes::ReadEnum(const std::string& name, const std::string& inside) {
  int count = 0;
  for (const std::string& part : SplitParameters(inside)) {
    const std::string each(absl::StripAsciiWhitespace(part));
    const size_t value = each.find('=');
    if (value != std::string::npos &&
        absl::StripAsciiWhitespace(each.substr(value + 1)) != absl::StrCat(count))
      return;
    if (!each.empty()) ++count;
  }
  enums_[name] = count;
}

const std::vector<SourceField>& SourceTypes::FieldsOf(const std::string& name) const {
  static const auto* const kNone = new std::vector<SourceField>;
  const auto found = structs_.find(name);
  return found == structs_.end() ? *kNone : found->second;
}

int SourceTypes::EnumeratorsOf(const std::string& name) const {
  const auto found = enums_.find(name);
  return found == enums_.end() ? 0 : found->second;
}

bool SourceTypes::IsPlain(const std::string& type) const {
  return ParseSignature(absl::StrCat("void f(const ", type, "* x)"), plain_structs_).ok();
}

}  // namespace whetstone
