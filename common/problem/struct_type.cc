#include "common/problem/struct_type.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/problem/cpp_text.h"
#include "common/problem/element_type.h"
#include "common/problem/expression.h"

namespace whetstone {
namespace {

bool IsWordByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Longer definitions of constants are not read: whoever writes "const" often shall not cost much.
constexpr size_t kConstantBytesMax = 200;

using Constants = std::map<std::string, int64_t>;

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

// Returns the value of "4*N"; none where C++ may give another one, or none.
std::optional<int64_t> ConstantValue(absl::string_view text, const Constants& constants) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    // "010" is octal.
    const bool begins = i == 0 || !IsWordByte(text[i - 1]);
    if (begins && text[i] == '0' && IsWordByte(text[i + 1])) return std::nullopt;
  }
  const absl::StatusOr<Expression> parsed = Expression::Parse(text);
  if (!parsed.ok()) return std::nullopt;
  const absl::StatusOr<int64_t> value = parsed->Evaluate(constants);
  return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
}

// Reads "constexpr int N = 4;", of which `text` is what stands behind "constexpr".
void ReadConstant(absl::string_view text, Constants* constants) {
  const size_t end = text.substr(0, kConstantBytesMax).find(';');
  const size_t equals = text.substr(0, end).find('=');
  if (end == absl::string_view::npos || equals == absl::string_view::npos) return;
  const std::optional<std::vector<std::string>> words = Words(text.substr(0, equals));
  if (!words.has_value() || words->size() < 2) return;
  const std::optional<int64_t> value =
      ConstantValue(text.substr(equals + 1, end - equals - 1), *constants);
  if (!value.has_value()) return;
  // Which of two holds, as below #if and #else, is not known: it is no extent.
  const auto [at, is_new] = constants->emplace(words->back(), *value);
  if (!is_new && at->second != *value) at->second = 0;
}

// Takes the extents off a declarator, "m[3][N]"; false if one is no number from 1 on.
bool TakeExtents(const Constants& constants, absl::string_view* declarator,
                 v1::StructType::Field* field) {
  const size_t open = declarator->find('[');
  if (open == absl::string_view::npos) return true;
  absl::string_view rest = absl::StripAsciiWhitespace(declarator->substr(open));
  *declarator = declarator->substr(0, open);
  while (!rest.empty()) {
    const size_t close = rest.find(']');
    if (rest[0] != '[' || close == absl::string_view::npos) return false;
    const std::optional<int64_t> extent = ConstantValue(rest.substr(1, close - 1), constants);
    if (!extent.has_value() || *extent < 1 || *extent > std::numeric_limits<uint32_t>::max()) {
      return false;
    }
    field->add_extents(static_cast<uint32_t>(*extent));
    rest = absl::StripLeadingAsciiWhitespace(rest.substr(close + 1));
  }
  return true;
}

// Reads the members of the struct `name` ("float x, y; int id[4];"); none if one is neither a
// number nor an array of numbers.
std::optional<v1::StructType> ParseFields(const std::string& name, absl::string_view body,
                                          const Constants& constants) {
  v1::StructType type;
  type.set_name(name);
  const std::vector<absl::string_view> declarations = absl::StrSplit(body, ';');
  if (!absl::StripAsciiWhitespace(declarations.back()).empty()) return std::nullopt;
  for (size_t i = 0; i + 1 < declarations.size(); ++i) {
    v1::ElementType element = v1::ELEMENT_TYPE_UNSPECIFIED;
    bool is_char = false;
    for (absl::string_view declarator : absl::StrSplit(declarations[i], ',')) {
      v1::StructType::Field* made = type.add_fields();
      if (!TakeExtents(constants, &declarator, made)) return std::nullopt;
      std::optional<std::vector<std::string>> words = Words(declarator);
      if (!words.has_value() || words->empty()) return std::nullopt;
      const std::string field = words->back();
      words->pop_back();
      if (element == v1::ELEMENT_TYPE_UNSPECIFIED) {
        const std::string cpp_type = absl::StrJoin(*words, " ");
        element = ElementTypeOfCpp(cpp_type);
        is_char = cpp_type == "char";
        if (element == v1::ELEMENT_TYPE_UNSPECIFIED) return std::nullopt;
      } else if (!words->empty()) {
        return std::nullopt;
      }
      made->set_name(field);
      made->set_type(element);
      if (is_char) made->set_is_char(true);
    }
  }
  if (type.fields().empty()) return std::nullopt;
  return type;
}

// Returns how many numbers `field` is; of more than a struct may have, one more than that.
size_t NumbersOf(const v1::StructType::Field& field) {
  size_t numbers = 1;
  for (const size_t extent : field.extents()) {
    numbers = std::min(numbers * std::min(extent, kStructBytesMax + 1), kStructBytesMax + 1);
  }
  return numbers;
}

// Returns "[0][2]" of the number `index` of `field`; nothing of a plain number.
std::string IndicesOf(const v1::StructType::Field& field, size_t index) {
  std::string text;
  for (auto extent = field.extents().rbegin(); extent != field.extents().rend(); ++extent) {
    text = absl::StrCat("[", index % *extent, "]", text);
    index /= *extent;
  }
  return text;
}

std::string ExtentsText(const v1::StructType::Field& field) {
  std::string text;
  for (const uint32_t extent : field.extents()) absl::StrAppend(&text, "[", extent, "]");
  return text;
}

std::string CppTypeOf(const v1::StructType::Field& field) {
  return field.is_char() ? "char" : CppType(field.type());
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

absl::string_view FieldNameOf(const FieldLayout& layout) {
  const absl::string_view name = layout.name;
  return name.substr(0, name.find('['));
}

std::string FieldTypeName(const v1::StructType::Field& field) {
  return absl::StrCat(field.is_char() ? "char" : ElementTypeName(field.type()), ExtentsText(field));
}

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
    const size_t numbers = NumbersOf(field);
    for (size_t i = 0; i < numbers; ++i) {
      layout.fields.push_back(
          {absl::StrCat(field.name(), IndicesOf(field, i)), field.type(), offset + i * bytes});
    }
    layout.bytes = offset + numbers * bytes;
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
  const bool typed = std::all_of(known->fields().begin(), known->fields().end(), [](const auto& f) {
    return ElementBytes(f.type()) > 0 && NumbersOf(f) > 0;
  });
  if (known->fields().empty() || !typed) {
    return absl::InvalidArgumentError(
        absl::StrCat("struct ", struct_type, " has no fields, or one without a type"));
  }
  ElementLayout layout = LayoutOf(*known);
  if (layout.bytes > kStructBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("struct ", struct_type, " has more than ", kStructBytesMax, " bytes"));
  }
  return layout;
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
      const std::string cpp = CppTypeOf(field);
      absl::StrAppend(&text,
                      cpp == before    ? ", "
                      : before.empty() ? "\n    "
                                       : ";\n    ",
                      cpp == before ? "" : cpp + " ", field.name(), ExtentsText(field));
      before = cpp;
    }
    absl::StrAppend(&text, ";\n};\n");
  }
  return text;
}

std::vector<StructDefinition> FindStructs(absl::string_view code) {
  std::vector<StructDefinition> found;
  Constants constants;
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
    if (word == "const" || word == "constexpr") {
      ReadConstant(absl::string_view(masked).substr(cursor.at()), &constants);
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
    found.push_back(
        {name, begin, cursor.at(), LineAt(code, begin), ParseFields(name, fields, constants)});
  }
  return found;
}

bool SameStruct(const v1::StructType& a, const v1::StructType& b) {
  return a.name() == b.name() &&
         std::equal(a.fields().begin(), a.fields().end(), b.fields().begin(), b.fields().end(),
                    [](const auto& x, const auto& y) {
                      return x.name() == y.name() && CppType(x.type()) == CppType(y.type()) &&
                             ExtentsText(x) == ExtentsText(y);
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
