#include "coordinator/authoring/given_parameter.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "coordinator/prompt/identifiers.h"

namespace whetstone {
namespace {

constexpr size_t kNoPlace = std::string::npos;

std::string Trimmed(absl::string_view text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

}  // namespace

std::vector<std::string> SplitParameters(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool is_default = false;  // where < and > compare
  for (const char c : text) {
    if (c == '(' || c == '[' || c == '{' || (c == '<' && !is_default)) ++depth;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && !is_default)) --depth;
    if (c == '=' && depth == 0) is_default = true;
    if (c == ',' && depth == 0) {
      is_default = false;
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

GivenParameter ReadParameter(const std::string& parameter) {
  std::string text = Trimmed(parameter.substr(0, parameter.find('=')));
  bool array = false;
  if (const size_t bracket = text.find('['); bracket != kNoPlace && text.back() == ']') {
    // More than one extent is no pointer to numbers.
    if (text.find('[', bracket + 1) != kNoPlace) return {};
    text = Trimmed(text.substr(0, bracket));
    array = true;
  }
  size_t name = text.size();
  while (name > 0 && IsWordChar(text[name - 1])) --name;
  GivenParameter given{Trimmed(text.substr(0, name)), text.substr(name)};
  if (array) given.type += "*";
  // That the pointer stays what it is says nothing about its elements.
  for (const char* end : {"const", "__restrict", "__restrict__"}) {
    absl::string_view type = given.type;
    if (absl::ConsumeSuffix(&type, end) && absl::EndsWith(absl::StripAsciiWhitespace(type), "*"))
      given.type = Trimmed(type);
  }
  return given;
}

GivenType ReadGivenType(const std::string& text) {
  GivenType type;
  std::string left = text;
  absl::string_view view = left;
  if (absl::ConsumeSuffix(&view, "&")) type.reference = true;
  left = Trimmed(view);
  view = left;
  if (absl::ConsumePrefix(&view, "const ") || absl::ConsumeSuffix(&view, " const"))
    type.is_const = true;
  left = Trimmed(view);
  view = left;
  absl::ConsumePrefix(&view, "std::");
  type.core = std::string(view);
  for (const char* name : {"vector", "span", "array"}) {
    absl::string_view arguments = view;
    if (!absl::ConsumePrefix(&arguments, name)) continue;
    arguments = absl::StripAsciiWhitespace(arguments);
    if (!absl::ConsumePrefix(&arguments, "<") || !absl::ConsumeSuffix(&arguments, ">")) continue;
    const std::vector<std::string> parts = SplitParameters(std::string(arguments));
    const bool is_array = std::string(name) == "array";
    if (parts.size() != (is_array ? 2u : 1u)) continue;
    type.core = name;
    type.element = Trimmed(parts[0]);
    type.extent = is_array ? Trimmed(parts[1]) : "";
    absl::string_view element = type.element;
    const bool of_const = absl::ConsumePrefix(&element, "const ");
    type.element = Trimmed(element);
    // A span that stays the same may be written through.
    type.is_const = name == absl::string_view("span") ? of_const : type.is_const;
    // Bits, and containers of containers but arrays, are no elements that stand side by side.
    absl::string_view within = type.element;
    absl::ConsumePrefix(&within, "std::array<");
    if (!absl::StrContains(within, "<") && type.element != "bool") continue;
    type.core = std::string(view);
    type.element.clear();
  }
  if (type.core == "string" || type.core == "string_view") {
    type.is_const = type.is_const || type.core == "string_view";
    type.element = "char";
  }
  return type;
}

}  // namespace whetstone
