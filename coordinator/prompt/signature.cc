#include "coordinator/prompt/signature.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/problem/element_type.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

struct Word {
  std::string text;
  size_t column;  // from 1
};

absl::Status ErrorAt(size_t column, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("column ", column, ": ", what));
}

absl::StatusOr<std::vector<Word>> Tokenize(absl::string_view text) {
  std::vector<Word> words;
  size_t at = 0;
  while (at < text.size()) {
    const unsigned char c = text[at];
    if (absl::ascii_isspace(c)) {
      ++at;
      continue;
    }
    const size_t begin = at;
    if (absl::ascii_isalpha(c) || c == '_') {
      while (at < text.size() &&
             (absl::ascii_isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) {
        ++at;
      }
    } else if (text.substr(at, 2) == "::") {
      at += 2;
    } else if (c == '(' || c == ')' || c == ',' || c == '*') {
      ++at;
    } else if (c == ';') {
      return ErrorAt(at + 1, "leave out the trailing ';'");
    } else {
      return ErrorAt(at + 1,
                     absl::StrCat("unexpected '", text.substr(at, 1),
                                  "': parameters are numbers, structs or single pointers to them"));
    }
    words.push_back({std::string(text.substr(begin, at - begin)), begin + 1});
  }
  words.push_back({"", text.size() + 1});
  return words;
}

// Reads one declaration "const unsigned int* name" at a time.
class Reader {
 public:
  Reader(std::vector<Word> words, const std::vector<std::string>& structs)
      : words_(std::move(words)), structs_(structs) {}

  const Word& Peek() const { return words_[at_]; }
  bool Take(absl::string_view text) {
    if (Peek().text != text) return false;
    ++at_;
    return true;
  }
  absl::Status Expect(absl::string_view text) {
    if (Take(text)) return absl::OkStatus();
    return ErrorAt(Peek().column, absl::StrCat("expected '", text, "'", Found()));
  }

  absl::StatusOr<Parameter> Declaration(bool allow_void) {
    Parameter result;
    const size_t column = Peek().column;
    std::vector<std::string> type;
    while (true) {
      if (Take("const")) {
        result.is_const = true;
      } else if (Take("std")) {
        RETURN_IF_ERROR(Expect("::"));
      } else if (IsTypeWord(Peek().text)) {
        type.push_back(Peek().text);
        ++at_;
      } else {
        break;
      }
    }
    if (type.empty()) {
      const bool named = IsIdentifier(Peek().text);
      return ErrorAt(column, absl::StrCat("expected a type", Found(),
                                          named ? ": a struct must be in 'types'" : ""));
    }
    ASSIGN_OR_RETURN(result.type, Normalize(type, column, allow_void));
    if (Take("*")) result.pointer = true;
    if (Peek().text == "*")
      return ErrorAt(Peek().column, "a pointer to a pointer is not supported");
    if (result.type == "void" && result.pointer) {
      return ErrorAt(column, "void* is not supported: name the element's type");
    }
    if (!IsIdentifier(Peek().text)) {
      return ErrorAt(Peek().column, absl::StrCat("expected a name", Found()));
    }
    result.name = Peek().text;
    ++at_;
    return result;
  }

 private:
  std::string Found() const {
    return Peek().text.empty() ? " before the end" : absl::StrCat(", found '", Peek().text, "'");
  }

  bool IsStruct(const std::string& word) const {
    return std::find(structs_.begin(), structs_.end(), word) != structs_.end();
  }

  bool IsTypeWord(const std::string& word) const {
    return word == "void" || IsStruct(word) ||
           ElementTypeOfCpp(word) != v1::ELEMENT_TYPE_UNSPECIFIED;
  }

  absl::StatusOr<std::string> Normalize(const std::vector<std::string>& words, size_t column,
                                        bool allow_void) const {
    if (words.size() == 1 && IsStruct(words[0])) return words[0];
    std::map<std::string, int> count;
    for (const std::string& word : words) ++count[word];
    std::string name;
    if (words.size() == 1 && words[0] != "signed" && words[0] != "unsigned") {
      name = words[0];
    } else {
      const bool is_unsigned = count["unsigned"] > 0;
      const bool is_signed = count["signed"] > 0;
      std::string base = "int";
      if (count["char"] > 0) base = "char";
      if (count["short"] > 0) base = "short";
      if (count["long"] == 1) base = "long";
      if (count["long"] == 2) base = "long long";
      name = is_unsigned                   ? absl::StrCat("unsigned ", base)
             : is_signed && base == "char" ? "signed char"
                                           : base;
      // What was recognised must be all there was.
      size_t known = count["char"] + count["short"] + count["long"] + count["int"] +
                     count["unsigned"] + count["signed"];
      const bool clash = is_unsigned && is_signed;
      const bool char_clash = count["char"] > 0 && words.size() > 2;
      const bool repeats = std::any_of(count.begin(), count.end(), [](const auto& entry) {
        return entry.second > (entry.first == "long" ? 2 : 1);
      });
      if (known != words.size() || clash || char_clash || repeats) name.clear();
    }
    if (name == "void" && allow_void) return name;
    if (ElementTypeOfCpp(name) == v1::ELEMENT_TYPE_UNSPECIFIED) {
      return ErrorAt(column,
                     absl::StrCat("'", absl::StrJoin(words, " "), "' is not a supported type"));
    }
    return name;
  }

  std::vector<Word> words_;
  const std::vector<std::string>& structs_;
  size_t at_ = 0;
};

}  // namespace

bool Signature::Names(const std::string& type) const {
  return return_type == type || std::any_of(parameters.begin(), parameters.end(),
                                            [&](const Parameter& p) { return p.type == type; });
}

absl::StatusOr<Signature> ParseSignature(const v1::Problem& problem) {
  std::vector<std::string> structs;
  for (const v1::StructType& type : problem.structs()) structs.push_back(type.name());
  return ParseSignature(problem.signature(), structs);
}

absl::StatusOr<Signature> ParseSignature(absl::string_view text,
                                         const std::vector<std::string>& structs) {
  ASSIGN_OR_RETURN(std::vector<Word> words, Tokenize(text));
  Reader reader(std::move(words), structs);
  Signature result;
  ASSIGN_OR_RETURN(Parameter head, reader.Declaration(/*allow_void=*/true));
  if (head.pointer || head.is_const) {
    return ErrorAt(1, "the function returns void, a number or a struct");
  }
  result.return_type = head.type;
  result.name = head.name;
  RETURN_IF_ERROR(reader.Expect("("));
  if (!reader.Take(")")) {
    std::set<std::string> names;
    do {
      const size_t column = reader.Peek().column;
      ASSIGN_OR_RETURN(Parameter parameter, reader.Declaration(/*allow_void=*/false));
      if (!names.insert(parameter.name).second) {
        return ErrorAt(column, absl::StrCat("two parameters are named '", parameter.name, "'"));
      }
      result.parameters.push_back(std::move(parameter));
    } while (reader.Take(","));
    RETURN_IF_ERROR(reader.Expect(")"));
  }
  if (!reader.Peek().text.empty()) {
    return ErrorAt(reader.Peek().column,
                   absl::StrCat("unexpected '", reader.Peek().text, "' after ')'"));
  }
  if (result.parameters.empty()) return ErrorAt(1, "the function has no parameters");
  return result;
}

bool TypeHolds(absl::string_view cpp_type, v1::ElementType type) {
  const v1::ElementType held = ElementTypeOfCpp(cpp_type);
  if (held == v1::ELEMENT_TYPE_UNSPECIFIED) return false;
  if (type == v1::BF16) return held == v1::U16;
  return held == type || (cpp_type == "char" && type == v1::U8);
}

double IntegerMin(v1::ElementType type) {
  return IsSigned(type) ? -static_cast<double>(uint64_t{1} << (8 * ElementBytes(type) - 1)) : 0.0;
}

double IntegerMax(v1::ElementType type) {
  const size_t bits = 8 * ElementBytes(type);
  if (IsSigned(type)) return static_cast<double>((uint64_t{1} << (bits - 1)) - 1);
  return static_cast<double>(std::numeric_limits<uint64_t>::max() >> (64 - bits));
}

int64_t CppIntegerMax(absl::string_view cpp_type) {
  const v1::ElementType type = ElementTypeOfCpp(cpp_type);
  if (type == v1::ELEMENT_TYPE_UNSPECIFIED || IsFloating(type)) return 0;
  const size_t bits = 8 * ElementBytes(type);
  if (bits == 64) return std::numeric_limits<int64_t>::max();
  return (int64_t{1} << (IsSigned(type) ? bits - 1 : bits)) - 1;
}

bool IsIdentifier(absl::string_view word) {
  static const auto* const kKeywords = new std::set<absl::string_view>{
      "alignas",      "alignof",      "and",           "and_eq",
      "asm",          "auto",         "bitand",        "bitor",
      "bool",         "break",        "case",          "catch",
      "char",         "char8_t",      "char16_t",      "char32_t",
      "class",        "co_await",     "co_return",     "co_yield",
      "compl",        "concept",      "const",         "const_cast",
      "consteval",    "constexpr",    "constinit",     "continue",
      "decltype",     "default",      "delete",        "do",
      "double",       "dynamic_cast", "else",          "enum",
      "explicit",     "export",       "extern",        "false",
      "float",        "for",          "friend",        "goto",
      "if",           "inline",       "int",           "long",
      "main",         "mutable",      "namespace",     "new",
      "noexcept",     "not",          "not_eq",        "nullptr",
      "operator",     "or",           "or_eq",         "private",
      "protected",    "public",       "register",      "reinterpret_cast",
      "requires",     "return",       "short",         "signed",
      "sizeof",       "static",       "static_assert", "static_cast",
      "struct",       "switch",       "template",      "this",
      "thread_local", "throw",        "true",          "try",
      "typedef",      "typeid",       "typename",      "union",
      "unsigned",     "using",        "virtual",       "void",
      "volatile",     "wchar_t",      "while",         "xor",
      "xor_eq"};
  if (word.empty() || word.size() > 64) return false;
  if (!absl::ascii_isalpha(static_cast<unsigned char>(word[0])) && word[0] != '_') return false;
  for (const char c : word) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return kKeywords->count(word) == 0;
}

}  // namespace whetstone
