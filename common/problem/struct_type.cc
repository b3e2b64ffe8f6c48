#include "common/problem/struct_type.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/problem/cpp_text.h"
#include "common/problem/element_type.h"

namespace whetstone {
namespace {

bool IsWordByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Returns the identifiers of a declaration, "std::" left out; none if there is anything else in it.
std::optional<std::vector<std::string>> Words(absl::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    while (at < text.size() && IsWordByte(text[at])) ++at;
    if (at > begin) {
      words.emplace_back(text.substr(begin, at - begin));
    } else if (text.substr(at, 2) == "::" && !words.empty() && words.back() == "std") {
      words.pop_back();
      at += 2;
    } else if (absl::ascii_isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
    } else {
      return std::nullopt;
    }
  }
  return words;
}

// Reads the members of the struct `name` ("float x, y; int id;"); none if one is no number.
std::optional<v1::StructType> ParseFields(const std::string& name, absl::string_view body) {
  v1::StructType type;
  type.set_name(name);
  const std::vector<absl::string_view> declarations = absl::StrSplit(body, ';');
  if (!absl::StripAsciiWhitespace(declarations.back()).empty()) return std::nullopt;
  for (size_t i = 0; i + 1 < declarations.size(); ++i) {
    v1::ElementType element = v1::ELEMENT_TYPE_UNSPECIFIED;
    for (const absl::string_view declarator : absl::StrSplit(declarations[i], ',')) {
      std::optional<std::vector<std::string>> words = Words(declarator);
      if (!words.has_value() || words->empty()) return std::nullopt;
      const std::string field = words->back();
      words->pop_back();
      if (element == v1::ELEMENT_TYPE_UNSPECIFIED) {
        element = ElementTypeOfCpp(absl::StrJoin(*words, " "));
        if (element == v1::ELEMENT_TYPE_UNSPECIFIED) return std::nullopt;
      } else if (!words->empty()) {
        return std::nullopt;
      }
      v1::StructType::Field* made = type.add_fields();
      made->set_name(field);
      made->set_type(element);
    }
  }
  if (type.fields().empty()) return std::nullopt;
  return type;
}

// A Cursor is a position in masked text.
class Cursor {
 public:
  Cursor(absl::string_view text, size_t at) : text_(text), at_(at) {}

  size_t at() const { return at_; }
  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  // Returns the word here; empty if none is.
  absl::string_view Word() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsWordByte(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // Goes from behind a '{' to behind its '}'.
  bool SkipBlock() {
    for (int depth = 1; at_ < text_.size(); ++at_) {
      depth += (text_[at_] == '{') - (text_[at_] == '}');
      if (depth > 0) continue;
      ++at_;
      return true;
    }
    return false;
  }

 private:
  absl::string_view text_;
  size_t at_;
};

}  // namespace

ElementLayout LayoutOf(v1::ElementType type) {
  ElementLayout layout;
  layout.bytes = ElementBytes(type);
  layout.alignment = std::max<size_t>(1, layout.bytes);
  if (layout.bytes > 0) layout.fields.push_back({"", type, 0});
  return layout;
}

ElementLayout LayoutOf(const v1::StructType& type) {
  ElementLayout layout;
  layout.struct_name = type.name();
  const auto round_up = [](size_t value, size_t unit) { return (value + unit - 1) / unit * unit; };
  for (const v1::StructType::Field& field : type.fields()) {
    const size_t bytes = std::max<size_t>(1, ElementBytes(field.type()));
    const size_t offset = round_up(layout.bytes, bytes);
    layout.fields.push_back({field.name(), field.type(), offset});
    layout.bytes = offset + bytes;
    layout.alignment = std::max(layout.alignment, bytes);
  }
  layout.bytes = round_up(layout.bytes, layout.alignment);
  return layout;
}

absl::StatusOr<ElementLayout> LayoutIn(const v1::Problem& problem, v1::ElementType type,
                                       absl::string_view struct_type) {
  if (struct_type.empty()) {
    if (ElementBytes(type) == 0) return absl::InvalidArgumentError("has no element type");
    return LayoutOf(type);
  }
  const v1::StructType* known = FindStruct(problem, struct_type);
  if (known == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("is a ", struct_type, ", but the problem has no such struct"));
  }
  const bool typed = std::all_of(known->fields().begin(), known->fields().end(),
                                 [](const auto& f) { return ElementBytes(f.type()) > 0; });
  if (known->fields().empty() || !typed) {
    return absl::InvalidArgumentError(
        absl::StrCat("struct ", struct_type, " has no fields, or one without a type"));
  }
  return LayoutOf(*known);
}

const v1::StructType* FindStruct(const v1::Problem& problem, absl::string_view name) {
  for (const v1::StructType& type : problem.structs()) {
    if (name == type.name()) return &type;
  }
  return nullptr;
}

std::string StructText(const v1::Problem& problem) {
  std::string text;
  for (const v1::StructType& type : problem.structs()) {
    absl::StrAppend(&text, "struct ", type.name(), " {");
    // `before` is the type of the line so far.
    std::string before;
    for (const v1::StructType::Field& field : type.fields()) {
      const std::string cpp = CppType(field.type());
      if (cpp == before) {
        absl::StrAppend(&text, ", ", field.name());
      } else {
        absl::StrAppend(&text, before.empty() ? "" : ";", "\n    ", cpp, " ", field.name());
      }
      before = cpp;
    }
    absl::StrAppend(&text, ";\n};\n");
  }
  return text;
}

std::vector<StructDefinition> FindStructs(absl::string_view code) {
  std::vector<StructDefinition> found;
  const std::string masked = MaskedCpp(code);
  Cursor cursor(masked, 0);
  while (cursor.at() < masked.size()) {
    const size_t begin = cursor.at();
    if (cursor.Take('{')) {
      if (!cursor.SkipBlock()) break;
      continue;
    }
    const absl::string_view word = cursor.Word();
    if (word.empty()) {
      cursor = Cursor(masked, begin + 1);
      continue;
    }
    if (word != "struct") continue;
    cursor.SkipSpace();
    const std::string name(cursor.Word());
    cursor.SkipSpace();
    if (name.empty() || !cursor.Take('{')) continue;
    const size_t body = cursor.at();
    if (!cursor.SkipBlock()) break;
    const absl::string_view fields = absl::string_view(masked).substr(body, cursor.at() - 1 - body);
    cursor.SkipSpace();
    if (!cursor.Take(';')) continue;
    found.push_back({name, begin, cursor.at(), LineAt(code, begin), ParseFields(name, fields)});
  }
  return found;
}

bool SameStruct(const v1::StructType& a, const v1::StructType& b) {
  return a.name() == b.name() &&
         std::equal(a.fields().begin(), a.fields().end(), b.fields().begin(), b.fields().end(),
                    [](const auto& x, const auto& y) {
                      return x.name() == y.name() && CppType(x.type()) == CppType(y.type());
                    });
}

bool IsStructOf(const v1::Problem& problem, const StructDefinition& definition) {
  const v1::StructType* type = FindStruct(problem, definition.name);
  return type != nullptr && definition.type.has_value() && SameStruct(*type, *definition.type);
}

std::string WithoutStructs(absl::string_view code, const v1::Problem& problem) {
  std::string text(code);
  if (problem.structs().empty()) return text;
  for (const StructDefinition& definition : FindStructs(code)) {
    if (!IsStructOf(problem, definition)) continue;
    for (size_t i = definition.begin; i < definition.end; ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
  }
  return text;
}

}  // namespace whetstone
