#include "coordinator/authoring/plain_source.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/problem/cpp_text.h"
#include "common/problem/element_type.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/authoring/code_text.h"
#include "coordinator/authoring/given_parameter.h"
#include "coordinator/authoring/helper_pointers.h"
#include "coordinator/prompt/cpp_source.h"
#include "coordinator/prompt/identifiers.h"
#include "coordinator/prompt/prompt_sections.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

constexpr size_t kNowhere = std::string::npos;

// Whether a type's text has that word.
bool SaysConst(const std::string& type) {
  bool says = false;
  MapIdentifiers(type, [&](const std::string& word) {
    says = says || word == "const";
    return word;
  });
  return says;
}

std::string Trimmed(const std::string& text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

class Plain {
 public:
  Plain(const std::string& code, const std::string& name, const CppFunction& function)
      : code_(code), name_(name), function_(function), text_(code), masked_(text_.masked()) {}

  absl::StatusOr<PlainSource> Make() {
    const size_t open = masked_.find('(', function_.head);
    const size_t close = open < function_.open ? text_.Closing(open) : kNowhere;
    if (close == kNowhere || close > function_.open) return PlainSource{code_, {}};
    std::vector<std::string> parameters;
    for (const std::string& part : SplitParameters(masked_.substr(open + 1, close - open - 1))) {
      const GivenParameter given = ReadParameter(part);
      if (given.name.empty()) return PlainSource{code_, {}};
      if (absl::StrContains(part, "="))
        changes_.push_back(absl::StrCat("'", given.name, "' has no default value"));
      const size_t changed = changes_.size();
      ASSIGN_OR_RETURN(std::string plain, Parameter(given));
      // One that stays keeps its __restrict.
      if (changes_.size() == changed) plain = Trimmed(part.substr(0, part.find('=')));
      parameters.push_back(std::move(plain));
    }
    if (changes_.empty()) return PlainSource{code_, {}};
    // What is made at the beginning stands before anything that is rewritten there.
    edits_.insert(edits_.begin(), {open + 1, close, absl::StrJoin(parameters, ", ")});
    if (!begin_.empty())
      edits_.insert(edits_.begin(), {function_.open + 1, function_.open + 1, begin_});
    std::stable_sort(edits_.begin(), edits_.end(),
                     [](const TextEdit& a, const TextEdit& b) { return a.begin < b.begin; });
    std::string text;
    size_t done = 0;
    for (const TextEdit& edit : edits_) {
      if (edit.begin < done) return PlainSource{code_, {}};  // two of one text
      absl::StrAppend(&text, code_.substr(done, edit.begin - done), edit.text);
      done = edit.end;
    }
    return PlainSource{text + code_.substr(done), std::move(changes_)};
  }

 private:
  // Returns the parameters in its place.
  absl::StatusOr<std::string> Parameter(const GivenParameter& given) {
    const GivenType type = ReadGivenType(given.type);
    if (!type.element.empty()) return Container(given, type);
    const std::string fields = Fields(given);
    if (!fields.empty()) return fields;
    if (!type.reference || type.core.find_first_of("<&*") != kNowhere)
      return absl::StrCat(given.type, " ", given.name);
    if (type.is_const && !HasAddress(given)) {
      Note(given, "a value");
      return absl::StrCat(type.core, " ", given.name);
    }
    const std::string referred = absl::StrCat(type.is_const ? "const " : "", type.core);
    const std::string from = text_.Fresh(given.name + "_given");
    absl::StrAppend(&begin_, "\n  ", referred, "& ", given.name, " = *", from, ";");
    Note(given, absl::StrCat("the pointer '", from, "'"));
    return absl::StrCat(referred, "* ", from);
  }

  // Whether somebody may ask where it is, and look beside it.
  bool HasAddress(const GivenParameter& given) const {
    const auto uses = text_.UsesOf(given.name, function_.open, function_.close);
    return !uses || std::any_of(uses->begin(), uses->end(),
                                [&](size_t at) { return text_.IsAddressTaken(at); });
  }

  void Note(const GivenParameter& given, const std::string& became) {
    changes_.push_back(absl::StrCat("'", given.name, "' (", given.type, ") is ", became));
  }

  absl::StatusOr<std::string> Container(const GivenParameter& given, const GivenType& type) {
    const bool array = !type.extent.empty();
    const std::string size =
        array ? absl::StrCat("size_t{", type.extent, "}") : text_.Fresh(given.name + "_size");
    const std::string more = array ? "" : absl::StrCat(", size_t ", size);
    const std::string element = absl::StrCat(type.is_const ? "const " : "", type.element, "* ");
    // A string ends with a 0 that is none of its letters.
    const bool ends_with_0 = type.core == "string";
    const bool view = type.core == "span" || type.core == "string_view";
    std::string strange;
    std::optional<std::vector<TextEdit>> edits;
    if ((type.reference || view) && !ends_with_0)
      edits = UsesByPointer(given, type, size, &strange);
    if (edits) {
      edits_.insert(edits_.end(), edits->begin(), edits->end());
      // What nobody asks for is no input.
      const bool sized = !array && std::any_of(edits->begin(), edits->end(), [&](const auto& each) {
        return absl::StrContains(each.text, size);
      });
      Note(given,
           absl::StrCat("'", given.name, "'", sized ? absl::StrCat(" and '", size, "'") : ""));
      return absl::StrCat(element, given.name, sized ? more : "");
    }
    // A view of others' elements is const or not itself.
    const bool same = view ? absl::StartsWith(given.type, "const ") : type.is_const;
    if (type.reference && !same) {
      return PromptError(
          name_, function_.line,
          absl::StrCat("'", given.name, "' (", given.type, ") is more than elements here (",
                       ends_with_0 ? "it ends with a 0" : strange,
                       "): a problem's arrays are as long as their sizes say. Give the function an "
                       "array that is long enough, and let it return how much of it is used"));
    }
    const std::string from = text_.Fresh(given.name + "_given");
    std::string own = given.type;  // as it was, but a reference
    if (type.reference) own = Trimmed(own.substr(0, own.rfind('&')));
    if (array) {
      own = absl::StrCat("std::array<", type.element, ", ", type.extent, ">");
      const std::string at = text_.Fresh(given.name + "_at");
      absl::StrAppend(&begin_, "\n  ", own, " ", given.name, ";\n  for (size_t ", at, " = 0; ", at,
                      " < ", size, "; ++", at, ") ", given.name, "[", at, "] = ", from, "[", at,
                      "];");
    } else if (view) {
      absl::StrAppend(&begin_, "\n  ", own, " ", given.name, "(", from, ", ", size, ");");
    } else {
      absl::StrAppend(&begin_, "\n  ", own, " ", given.name, "(", from, ", ", from, " + ", size,
                      ");");
    }
    Note(given,
         absl::StrCat("made of '", from, "'", array ? "" : absl::StrCat(" and '", size, "'")));
    return absl::StrCat(view ? element : absl::StrCat("const ", type.element, "* "), from, more);
  }

  // The edits by which a container's uses become those of a pointer and a size; nothing where it is
  // more than that, and *strange, where that is known.
  std::optional<std::vector<TextEdit>> UsesByPointer(const GivenParameter& given,
                                                     const GivenType& type, const std::string& size,
                                                     std::string* strange) {
    std::vector<TextEdit> edits;
    HelperPointers helpers(text_, type.element);
    const std::optional<std::vector<size_t>> uses =
        text_.UsesOf(given.name, function_.open, function_.close);
    const size_t copying = text_.CopyingLambda(function_.open, function_.close);
    if (type.core != "span" && type.core != "string_view" && copying != kNowhere) {
      *strange = absl::StrCat("a lambda copies it in line ", LineAt(code_, copying));
      return std::nullopt;
    }
    if (!uses) {
      *strange = "its name is another one's too";
      return std::nullopt;
    }
    for (const size_t at : *uses) {
      const size_t end = at + given.name.size();
      const size_t next = text_.Next(end);
      const size_t before = text_.Before(at);
      if (masked_[next] == '[') continue;
      const bool member = masked_[next] == '.' && AddMember(given, size, at, next, &edits);
      const bool range = masked_[before] == ':' && masked_[next] == ')' &&
                         AddRangeFor(given, size, before, next, &edits);
      if (member || range || helpers.TakePointer(at)) continue;
      *strange = absl::StrCat("as in line ", LineAt(code_, at));
      return std::nullopt;
    }
    if (!helpers.AreAllCallsKnown()) {
      *strange = "helpers that it is given to get others too";
      return std::nullopt;
    }
    edits.insert(edits.end(), helpers.edits().begin(), helpers.edits().end());
    return edits;
  }

  bool AddMember(const GivenParameter& given, const std::string& size, size_t at, size_t dot,
                 std::vector<TextEdit>* edits) {
    const size_t begin = text_.Next(dot + 1);
    const size_t end = text_.WordEnd(begin);
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
    const auto it = known.find(masked_.substr(begin, end - begin));
    const size_t open = text_.Next(end);
    const size_t close = masked_[open] == '(' ? text_.Closing(open) : kNowhere;
    if (it == known.end() || close == kNowhere || text_.Next(open + 1) != close) return false;
    // What a call returns is a value; these would become the parameters themselves.
    const std::string before = masked_.substr(text_.Before(at) - 1, 2);
    const std::string behind = masked_.substr(text_.Next(close + 1), 2);
    const bool counts = before == "++" || before == "--" || behind == "++" || behind == "--";
    if (counts || absl::StrContains(masked_, "auto&&") || absl::StrContains(masked_, "auto &&"))
      return false;
    edits->push_back({at, close + 1, it->second});
    return true;
  }

  // for (const T& each : given) { becomes a loop over places.
  bool AddRangeFor(const GivenParameter& given, const std::string& size, size_t colon, size_t close,
                   std::vector<TextEdit>* edits) {
    size_t open = colon;
    for (int depth = 0; open > 0; --open) {
      if (masked_[open] == ')') ++depth;
      if (masked_[open] == '(' && depth-- == 0) break;
    }
    const size_t body = text_.Next(close + 1);
    const std::string each = Trimmed(masked_.substr(open + 1, colon - open - 1));
    const size_t keyword = text_.Before(open);
    const bool is_for = keyword >= 2 && masked_.compare(keyword - 2, 3, "for") == 0;
    if (!is_for || masked_[body] != '{' || absl::StrContains(each, ";")) return false;
    const std::string place = text_.Fresh(given.name + "_at");
    edits->push_back({open, body + 1,
                      absl::StrCat("(size_t ", place, " = 0; ", place, " < ", size, "; ++", place,
                                   ") {\n", each, " = ", given.name, "[", place, "];")});
    return true;
  }

  // Of a single struct that only gives numbers, some of them whole: a parameter for each of its
  // fields, or for those that are read.
  std::string Fields(const GivenParameter& given) {
    const bool pointer = absl::EndsWith(given.type, "*");
    const bool by_value = !pointer && !absl::EndsWith(given.type, "&");
    if (!by_value && !SaysConst(given.type)) return "";
    const std::string type = Trimmed(
        absl::StrReplaceAll(given.type, {{"&", ""}, {"*", ""}, {"const ", ""}, {" const", ""}}));
    const std::vector<StructDefinition> structs = FindStructs(code_);
    const auto found = std::find_if(structs.begin(), structs.end(),
                                    [&](const auto& each) { return each.name == type; });
    if (found == structs.end() || !found->type.has_value()) return "";
    std::map<std::string, std::string> name_of;  // of fields
    const std::optional<std::vector<TextEdit>> edits = ReadsOfFields(given, pointer, &name_of);
    // Who has a pointer may look at the next struct.
    if (!edits && (pointer || HasAddress(given))) return "";
    std::vector<std::string> parameters, names;
    bool whole = pointer;
    for (const v1::StructType::Field& field : found->type->fields()) {
      const auto name = name_of.find(field.name());
      if (edits && name == name_of.end()) continue;
      if (!field.extents().empty()) return "";
      whole = whole || !IsFloating(field.type());
      names.push_back(name != name_of.end()
                          ? name->second
                          : text_.Fresh(absl::StrCat(given.name, "_", field.name())));
      parameters.push_back(
          absl::StrCat(field.is_char() ? "char" : CppType(field.type()), " ", names.back()));
    }
    if (!whole || (edits && (names.empty() || names.size() != name_of.size()))) return "";
    if (edits) {
      edits_.insert(edits_.end(), edits->begin(), edits->end());
    } else {
      absl::StrAppend(&begin_, "\n  ", by_value ? "" : "const ", type, " ", given.name, " = {",
                      absl::StrJoin(names, ", "), "};");
    }
    Note(given, absl::StrCat("a number for each field (", absl::StrJoin(parameters, ", "), ")"));
    return absl::StrJoin(parameters, ", ");
  }

  // The edits by which reads of fields become those of numbers, and their names; nothing where
  // there is anything but reads of fields.
  std::optional<std::vector<TextEdit>> ReadsOfFields(const GivenParameter& given, bool pointer,
                                                     std::map<std::string, std::string>* name_of) {
    const std::optional<std::vector<size_t>> uses =
        text_.UsesOf(given.name, function_.open, function_.close);
    if (!uses) return std::nullopt;
    std::vector<TextEdit> edits;
    const std::string by = pointer ? "->" : ".";
    for (const size_t at : *uses) {
      const size_t access = text_.Next(at + given.name.size());
      if (masked_.compare(access, by.size(), by) != 0) return std::nullopt;
      const size_t begin = text_.Next(access + by.size());
      const size_t end = text_.WordEnd(begin);
      if (text_.IsAddressTaken(at)) return std::nullopt;
      const std::string field = masked_.substr(begin, end - begin);
      const auto [name, is_new] = name_of->emplace(field, "");
      if (is_new) name->second = text_.Fresh(absl::StrCat(given.name, "_", field));
      edits.push_back({at, end, name->second});
    }
    return edits;
  }

  const std::string& code_;
  const std::string& name_;
  const CppFunction& function_;
  CodeText text_;
  const std::string& masked_;
  std::vector<TextEdit> edits_;
  std::vector<std::string> changes_;
  std::string begin_;  // of the body
};

// Returns the name of a function, of its signature.
std::string NameOfFunction(const std::string& signature) {
  const size_t open = std::min(signature.find('('), signature.size());
  size_t begin = open;
  while (begin > 0 && IsWordChar(signature[begin - 1])) --begin;
  return signature.substr(begin, open - begin);
}

}  // namespace

absl::StatusOr<PlainSource> MakePlain(const std::string& code, const std::string& name,
                                      const std::string& function) {
  ASSIGN_OR_RETURN(const CppSource source, ReadCppSource(code, name));
  std::vector<std::string> structs;
  for (const StructDefinition& each : FindStructs(code)) structs.push_back(each.name);
  const CppFunction* chosen = nullptr;
  int candidates = 0;
  for (const CppFunction& each : source.functions) {
    const bool wanted = function.empty() ? source.functions.size() == 1 ||
                                               ParseSignature(each.signature, structs).ok()
                                         : NameOfFunction(each.signature) == function;
    if (!wanted) continue;
    chosen = &each;
    ++candidates;
  }
  if (candidates != 1) return PlainSource{code, {}};
  // Whoever calls it calls it as it is.
  int named = 0;
  const std::string own = NameOfFunction(chosen->signature);
  MapIdentifiers(MaskedCpp(code), [&](const std::string& word) {
    named += word == own ? 1 : 0;
    return word;
  });
  return named == 1 ? Plain(code, name, *chosen).Make() : PlainSource{code, {}};
}

}  // namespace whetstone
