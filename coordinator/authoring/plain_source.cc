#include "coordinator/authoring/plain_source.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/problem/cpp_text.h"
#include "common/problem/element_type.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/authoring/given_parameter.h"
#include "coordinator/prompt/cpp_source.h"
#include "coordinator/prompt/identifiers.h"
#include "coordinator/prompt/prompt_sections.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

constexpr size_t kNowhere = std::string::npos;

struct TextEdit {
  size_t begin = 0;
  size_t end = 0;
  std::string text;
};

std::string Trimmed(const std::string& text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

class Plain {
 public:
  Plain(const std::string& code, const std::string& name, const CppFunction& function)
      : code_(code), name_(name), function_(function), masked_(MaskedCpp(code)) {
    MapIdentifiers(masked_, [this](const std::string& word) {
      words_.insert(word);
      return word;
    });
  }

  absl::StatusOr<PlainSource> Make() {
    const size_t open = masked_.find('(', function_.head);
    const size_t close = open < function_.open ? Closing(open) : kNowhere;
    if (close == kNowhere || close > function_.open) return PlainSource{code_, {}};
    std::vector<std::string> parameters;
    for (const std::string& part : SplitParameters(masked_.substr(open + 1, close - open - 1))) {
      const GivenParameter given = ReadParameter(part);
      if (given.name.empty()) return PlainSource{code_, {}};
      ASSIGN_OR_RETURN(std::string plain, Parameter(given));
      parameters.push_back(std::move(plain));
    }
    if (changes_.empty()) return PlainSource{code_, {}};
    edits_.push_back({open + 1, close, absl::StrJoin(parameters, ", ")});
    if (!begin_.empty()) edits_.push_back({function_.open + 1, function_.open + 1, begin_});
    if (views_) HelpersTakeViews();
    return PlainSource{Edited(), std::move(changes_)};
  }

 private:
  // The parameters in its place.
  absl::StatusOr<std::string> Parameter(const GivenParameter& given) {
    const GivenType type = ReadGivenType(given.type);
    const bool sequence = !type.element.empty() && type.core != "other";
    if (sequence && !type.reference && type.core != "span" && given.type != "std::string_view")
      return Copied(given, type);
    if (sequence) return Sequence(given, type);
    const std::string fields = Fields(given);
    if (!fields.empty()) return fields;
    if (!type.reference || absl::StrContains(type.core, "<") || absl::StrContains(type.core, "&"))
      return absl::StrCat(given.type, absl::EndsWith(given.type, "*") ? " " : " ", given.name);
    if (type.is_const) {
      Note(given, absl::StrCat("a value ('", type.core, "')"));
      return absl::StrCat(type.core, " ", given.name);
    }
    for (const size_t at : UsesOf(given.name))
      edits_.push_back({at, at + given.name.size(), absl::StrCat("(*", given.name, ")")});
    Note(given, absl::StrCat("a pointer ('", type.core, "*')"));
    return absl::StrCat(type.core, "* ", given.name);
  }

  void Note(const GivenParameter& given, const std::string& became) {
    changes_.push_back(absl::StrCat("'", given.name, "' (", given.type, ") is ", became));
  }

  std::string SizeOf(const GivenParameter& given, const GivenType& type) {
    if (!type.extent.empty()) return type.extent;
    std::string size = given.name + "_size";
    while (words_.count(size) > 0) size += "_";
    words_.insert(size);
    return size;
  }

  // A container of the function's own: it gets a copy, as it did.
  std::string Copied(const GivenParameter& given, const GivenType& type) {
    const std::string size = SizeOf(given, type);
    const std::string from = given.name + "_given";
    absl::StrAppend(&begin_, "\n  ", given.type, " ", given.name);
    if (type.core == "array")
      absl::StrAppend(&begin_, ";\n  for (int i = 0; i < ", size, "; ++i) ", given.name,
                      "[i] = ", from, "[i];");
    else
      absl::StrAppend(&begin_, "(", from, ", ", from, " + ", size, ");");
    Note(given, absl::StrCat("copied from '", from, "'",
                             type.extent.empty() ? absl::StrCat(", '", size, "'") : ""));
    return absl::StrCat("const ", type.element, "* ", from,
                        type.extent.empty() ? absl::StrCat(", size_t ", size) : "");
  }

  absl::StatusOr<std::string> Sequence(const GivenParameter& given, const GivenType& type) {
    const std::string size = SizeOf(given, type);
    for (const size_t at : UsesOf(given.name)) RETURN_IF_ERROR(Use(given, type, size, at));
    Note(given, absl::StrCat("'", given.name, "'",
                             type.extent.empty() ? absl::StrCat(" and '", size, "'") : ""));
    return absl::StrCat(type.is_const ? "const " : "", type.element, "* ", given.name,
                        type.extent.empty() ? absl::StrCat(", size_t ", size) : "");
  }

  // One use of a sequence.
  absl::Status Use(const GivenParameter& given, const GivenType& type, const std::string& size,
                   size_t at) {
    const size_t end = at + given.name.size();
    const size_t next = Next(end);
    if (masked_[next] == '[') return absl::OkStatus();
    if (masked_[next] == '.') return Member(given, size, at, next);
    const size_t before = Before(at);
    if (masked_[before] == ':' && masked_[before - 1] != ':' && masked_[next] == ')' &&
        RangeFor(given, size, before, next))
      return absl::OkStatus();
    const std::string element = absl::StrCat(type.is_const ? "const " : "", type.element);
    const std::string pair = absl::StrCat("(", given.name, ", ", given.name, " + ", size, ")");
    if (MakesVector(before)) {
      edits_.push_back({at, end, absl::StrCat("std::vector<", type.element, ">", pair)});
      return absl::OkStatus();
    }
    const std::string view =
        type.core == "string" ? "std::string_view" : absl::StrCat("std::span<", element, ">");
    edits_.push_back({at, end, absl::StrCat(view, "(", given.name, ", ", size, ")")});
    views_ = views_ || type.core != "string";
    return absl::OkStatus();
  }

  absl::Status Member(const GivenParameter& given, const std::string& size, size_t at, size_t dot) {
    const size_t begin = Next(dot + 1);
    size_t end = begin;
    while (end < masked_.size() && IsWordChar(masked_[end])) ++end;
    const std::string member = masked_.substr(begin, end - begin);
    const size_t open = Next(end);
    const size_t close = masked_[open] == '(' ? Closing(open) : kNowhere;
    const std::string& name = given.name;
    const std::map<std::string, std::string> known = {
        {"size", size},
        {"length", size},
        {"empty", absl::StrCat("(", size, " == 0)")},
        {"data", name},
        {"begin", name},
        {"cbegin", name},
        {"end", absl::StrCat("(", name, " + ", size, ")")},
        {"cend", absl::StrCat("(", name, " + ", size, ")")},
        {"front", absl::StrCat(name, "[0]")},
        {"back", absl::StrCat(name, "[", size, " - 1]")}};
    const auto it = known.find(member);
    if (close != kNowhere && it != known.end() && Next(open + 1) == close) {
      edits_.push_back({at, close + 1, it->second});
    } else if (close != kNowhere && member == "at") {
      edits_.push_back({dot, open + 1, "["});
      edits_.push_back({close, close + 1, "]"});
    } else {
      return PromptError(
          name_, LineAt(code_, at),
          absl::StrCat("'", name, ".", member, "' is more than a problem's arrays can: they are ",
                       "as long as their sizes say. Give the function an array that is long enough "
                       "and let it return how much of it is used"));
    }
    return absl::OkStatus();
  }

  // for (const T& each : given) { becomes a loop over places.
  bool RangeFor(const GivenParameter& given, const std::string& size, size_t colon, size_t close) {
    size_t open = colon;
    for (int depth = 0; open > 0; --open) {
      if (masked_[open] == ')') ++depth;
      if (masked_[open] == '(' && depth-- == 0) break;
    }
    const size_t body = Next(close + 1);
    const std::string each = Trimmed(code_.substr(open + 1, colon - open - 1));
    if (masked_[body] != '{' || absl::StrContains(each, ";")) return false;
    std::string place = given.name + "_at";
    for (int number = 2; words_.count(place) > 0; ++number)
      place = absl::StrCat(given.name, "_at", number);
    words_.insert(place);
    edits_.push_back({open, body + 1,
                      absl::StrCat("(size_t ", place, " = 0; ", place, " < ", size, "; ++", place,
                                   ") {\n", each, " = ", given.name, "[", place, "];")});
    return true;
  }

  // Whether what is named behind `before` begins a vector: std::vector<T> copy(given).
  bool MakesVector(size_t before) const {
    if (masked_[before] != '=' && masked_[before] != '(' && masked_[before] != '{') return false;
    size_t at = Before(before);
    while (at > 0 && IsWordChar(masked_[at])) --at;
    at = Before(at + 1);
    return masked_[at] == '>';
  }

  // A single struct with whole numbers of which the function only reads fields.
  std::string Fields(const GivenParameter& given) {
    std::string type = given.type;
    for (const char* other : {"&", "*"}) type = absl::StrReplaceAll(type, {{other, ""}});
    type = Trimmed(absl::StrReplaceAll(type, {{"const ", ""}, {" const", ""}}));
    const bool pointer = absl::EndsWith(given.type, "*");
    const bool may_change =
        !absl::StrContains(given.type, "const") && (pointer || absl::EndsWith(given.type, "&"));
    const std::vector<StructDefinition> structs = FindStructs(code_);
    const auto found = std::find_if(structs.begin(), structs.end(),
                                    [&](const auto& each) { return each.name == type; });
    if (found == structs.end() || !found->type.has_value() || may_change) return "";
    std::vector<TextEdit> edits;
    std::vector<std::string> used;
    for (const size_t at : UsesOf(given.name)) {
      const size_t access = Next(at + given.name.size());
      const std::string by = pointer ? "->" : ".";
      if (masked_.compare(access, by.size(), by) != 0) return "";
      const size_t begin = Next(access + by.size());
      size_t end = begin;
      while (end < masked_.size() && IsWordChar(masked_[end])) ++end;
      const std::string field = masked_.substr(begin, end - begin);
      const size_t next = Next(end);
      const bool assigned = masked_[next] == '=' && masked_[next + 1] != '=';
      const bool changed = assigned || (masked_[next + 1] == '=' &&
                                        absl::StrContains("+-*/%|&^", masked_.substr(next, 1)));
      const std::string name = absl::StrCat(given.name, "_", field);
      if (changed || masked_[Before(at)] == '&' || words_.count(name) > 0) return "";
      if (std::find(used.begin(), used.end(), field) == used.end()) used.push_back(field);
      edits.push_back({at, end, name});
    }
    std::vector<std::string> parameters;
    bool whole = false;
    for (const v1::StructType::Field& field : found->type->fields()) {
      if (std::find(used.begin(), used.end(), field.name()) == used.end()) continue;
      if (!field.extents().empty()) return "";
      whole = whole || !IsFloating(field.type());
      parameters.push_back(absl::StrCat(field.is_char() ? "char" : CppType(field.type()), " ",
                                        given.name, "_", field.name()));
    }
    if ((!whole && !pointer) || parameters.size() != used.size()) return "";
    edits_.insert(edits_.end(), edits.begin(), edits.end());
    Note(given, absl::StrCat("a number for each field (", absl::StrJoin(parameters, ", "), ")"));
    return absl::StrJoin(parameters, ", ");
  }

  // const std::vector<T>& of other functions takes spans.
  void HelpersTakeViews() {
    const std::string written = "const std::vector<";
    for (size_t at = masked_.find(written); at != kNowhere; at = masked_.find(written, at + 1)) {
      if (at >= function_.head && at < function_.close) continue;
      const size_t begin = at + written.size();
      const size_t end = masked_.find('>', begin);
      const std::string element = masked_.substr(begin, end - begin);
      if (end == kNowhere || masked_[Next(end + 1)] != '&' || absl::StrContains(element, "<"))
        continue;
      edits_.push_back({at, Next(end + 1) + 1, absl::StrCat("std::span<const ", element, ">")});
    }
    edits_.push_back({0, 0, "#include <span>\n"});
  }

  std::string Edited() {
    std::stable_sort(edits_.begin(), edits_.end(),
                     [](const TextEdit& a, const TextEdit& b) { return a.begin < b.begin; });
    std::string text;
    size_t done = 0;
    for (const TextEdit& edit : edits_) {
      if (edit.begin < done) continue;  // within another one
      absl::StrAppend(&text, code_.substr(done, edit.begin - done), edit.text);
      done = edit.end;
    }
    return text + code_.substr(done);
  }

  // Where the function's body names a variable of its own.
  std::vector<size_t> UsesOf(const std::string& name) const {
    std::vector<size_t> uses;
    for (size_t at = masked_.find(name, function_.open); at < function_.close;
         at = masked_.find(name, at + 1)) {
      const bool word = !IsWordChar(masked_[at - 1]) && !IsWordChar(masked_[at + name.size()]);
      const size_t before = Before(at);
      const bool field = masked_[before] == '.' ||
                         (masked_[before] == '>' && masked_[before - 1] == '-') ||
                         (masked_[before] == ':' && masked_[before - 1] == ':');
      if (word && !field) uses.push_back(at);
    }
    return uses;
  }

  // The first byte from `at` on, and the last one before it, that is no space.
  size_t Next(size_t at) const {
    while (at + 1 < masked_.size() && absl::ascii_isspace(static_cast<unsigned char>(masked_[at])))
      ++at;
    return at;
  }
  size_t Before(size_t at) const {
    while (at > 1 && absl::ascii_isspace(static_cast<unsigned char>(masked_[at - 1]))) --at;
    return at - 1;
  }
  // The ')' of a '('.
  size_t Closing(size_t open) const {
    int depth = 0;
    for (size_t at = open; at < masked_.size(); ++at) {
      if (masked_[at] == '(') ++depth;
      if (masked_[at] == ')' && --depth == 0) return at;
    }
    return kNowhere;
  }

  const std::string& code_;
  const std::string& name_;
  const CppFunction& function_;
  const std::string masked_;
  std::set<std::string> words_;
  std::vector<TextEdit> edits_;
  std::vector<std::string> changes_;
  std::string begin_;  // of the body
  bool views_ = false;
};

}  // namespace

absl::StatusOr<PlainSource> MakePlain(const std::string& code, const std::string& name,
                                      const std::string& function) {
  ASSIGN_OR_RETURN(const CppSource source, ReadCppSource(code, name));
  std::vector<std::string> structs;
  for (const StructDefinition& each : FindStructs(code)) structs.push_back(each.name);
  const CppFunction* chosen = source.functions.size() == 1 ? source.functions.data() : nullptr;
  int callable = 0;
  for (const CppFunction& each : source.functions) {
    const size_t open = each.signature.find('(');
    size_t begin = std::min(open, each.signature.size());
    while (begin > 0 && IsWordChar(each.signature[begin - 1])) --begin;
    const std::string own = each.signature.substr(begin, open - begin);
    const bool plain = ParseSignature(each.signature, structs).ok();
    callable += plain ? 1 : 0;
    if (function.empty() ? source.functions.size() > 1 && plain : own == function) chosen = &each;
  }
  if (chosen == nullptr || (function.empty() && source.functions.size() > 1 && callable != 1))
    return PlainSource{code, {}};
  return Plain(code, name, *chosen).Make();
}

}  // namespace whetstone
