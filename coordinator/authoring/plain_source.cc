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
#include "absl/strings/strip.h"
#include "common/problem/cpp_text.h"
#include "common/problem/element_type.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/authoring/array_result.h"
#include "coordinator/authoring/code_text.h"
#include "coordinator/authoring/container_uses.h"
#include "coordinator/authoring/given_parameter.h"
#include "coordinator/authoring/helper_pointers.h"
#include "coordinator/authoring/made_again.h"
#include "coordinator/authoring/rows_parameter.h"
#include "coordinator/authoring/source_types.h"
#include "coordinator/authoring/struct_of_arrays.h"
#include "coordinator/authoring/unwrapped_source.h"
#include "coordinator/authoring/written_result.h"
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

// Whether any of these edits asks for the size.
bool SaysSize(const std::vector<TextEdit>& edits, const std::string& size) {
  return std::any_of(edits.begin(), edits.end(),
                     [&](const auto& each) { return absl::StrContains(each.text, size); });
}

class Plain {
 public:
  Plain(const std::string& code, const std::string& name, const CppFunction& function)
      : code_(code), name_(name), function_(function), text_(code), masked_(text_.masked()) {}

  absl::StatusOr<PlainSource> Make() {
    const std::optional<FunctionHead> head = HeadOf(text_, function_);
    if (!head) return PlainSource{.code = code_, .changes = {}};
    const size_t open = head->open;
    const size_t close = head->close;
    std::vector<std::string> parameters;
    for (const std::string& part : SplitParameters(masked_.substr(open + 1, close - open - 1))) {
      const GivenParameter given = ReadParameter(part);
      if (given.name.empty()) return PlainSource{.code = code_, .changes = {}};
      if (absl::StrContains(part, "="))
        changes_.push_back(absl::StrCat("'", given.name, "' has no default value"));
      const size_t changed = changes_.size();
      ASSIGN_OR_RETURN(std::string plain, Parameter(given));
      // One that stays keeps its __restrict.
      if (changes_.size() == changed) plain = Trimmed(part.substr(0, part.find('=')));
      parameters.push_back(std::move(plain));
    }
    if (changes_.empty()) return PlainSource{.code = code_, .changes = {}};
    // What is made at the beginning stands before anything that is rewritten there.
    edits_.insert(edits_.begin(), {open + 1, close, absl::StrJoin(parameters, ", ")});
    if (!begin_.empty())
      edits_.insert(edits_.begin(), {function_.open + 1, function_.open + 1, begin_});
    std::optional<std::string> text = Edited(code_, std::move(edits_));
    if (!text) return PlainSource{.code = code_, .changes = {}};
    return PlainSource{*std::move(text), std::move(changes_), std::move(extents_)};
  }

 private:
  // Returns the parameters in its place.
  absl::StatusOr<std::string> Parameter(const GivenParameter& given) {
    const GivenType type = ReadGivenType(given.type);
    const bool of_arrays = absl::StartsWith(type.element, "std::array<");
    if (type.core == "array" ? !type.element.empty() && !of_arrays : types_.IsPlain(type.element))
      return Container(given, type);
    if (of_arrays && type.core == "vector") {
      std::string strange;
      const std::string size = text_.Fresh(given.name + "_size");
      if (const auto edits = UsesByPointer(given, type, size, &strange); edits && type.reference) {
        edits_.insert(edits_.end(), edits->begin(), edits->end());
        return OfArrays(given, type.element, type.is_const) +
               (SaysSize(*edits, size) ? ", size_t " + size : "");
      }
    }
    if (absl::EndsWith(given.type, "*") && absl::StartsWith(given.type, "std::array<"))
      return OfArrays(given, Trimmed(given.type.substr(0, given.type.size() - 1)), false);
    if (const auto rows = AsRows(&text_, types_, function_, given)) {
      edits_.insert(edits_.end(), rows->edits.begin(), rows->edits.end());
      begin_ += rows->begin;
      Note(given, rows->became);
      return rows->parameters;
    }
    const std::string fields = Fields(given);
    if (!fields.empty()) return fields;
    if (const auto again = Again(given, type)) return *again;
    if (!type.element.empty() || !type.reference || type.core.find_first_of("<&*") != kNowhere)
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

  // A pointer to arrays is one to their elements.
  std::string OfArrays(const GivenParameter& given, const std::string& array, bool is_const) {
    const std::string from = text_.Fresh(given.name + "_given");
    const std::string constant = is_const ? "const " : "";
    absl::StrAppend(&begin_, "\n  auto* ", given.name, " = reinterpret_cast<", constant, array,
                    "*>(", from, ");");
    Note(given, absl::StrCat("the elements of its arrays, '", from, "'"));
    return absl::StrCat(constant, ReadGivenType(array).element, "* ", from);
  }

  // What no problem holds is made again of what it is made of; nothing: it stays as it is.
  std::optional<std::string> Again(const GivenParameter& given, const GivenType& type) {
    std::string own = given.type;
    if (type.reference) own = Trimmed(own.substr(0, own.rfind('&')));
    absl::string_view plain = own;
    if (!absl::ConsumePrefix(&plain, "const ")) absl::ConsumeSuffix(&plain, " const");
    own = Trimmed(std::string(plain));
    const bool may_change = type.reference && !type.is_const;
    if (may_change || absl::EndsWith(own, "*") || types_.IsPlain(own)) return std::nullopt;
    const std::optional<MadeAgain> made = MakeAgain(own, given.name, types_, &text_);
    if (!made) return std::nullopt;
    begin_ += made->code;
    extents_.insert(made->extents.begin(), made->extents.end());
    const std::string parameters = absl::StrJoin(made->parameters, ", ");
    Note(given, absl::StrCat("made of what it holds (", parameters, ")"));
    return parameters;
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
      const bool sized = !array && SaysSize(*edits, size);
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
    ContainerUses looks(&text_, given.name, size);
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
      if (looks.Look(at) || helpers.TakePointer(at)) continue;
      *strange = absl::StrCat("as in line ", LineAt(code_, at));
      return std::nullopt;
    }
    if (!helpers.AreAllCallsKnown()) {
      *strange = "helpers that it is given to get others too";
      return std::nullopt;
    }
    std::vector<TextEdit> edits = looks.edits();
    edits.insert(edits.end(), helpers.edits().begin(), helpers.edits().end());
    return edits;
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
  const SourceTypes types_{code_};
  std::vector<TextEdit> edits_;
  std::vector<std::string> changes_;
  std::map<std::string, std::string> extents_;
  std::string begin_;  // of the body
};

// Returns the function that is meant; nothing: none or several are, or it is called in the file.
absl::StatusOr<std::optional<CppFunction>> Chosen(const std::string& code, const std::string& name,
                                                  const std::string& function) {
  ASSIGN_OR_RETURN(const CppSource source, ReadCppSource(code, name));
  std::vector<std::string> structs;
  for (const StructDefinition& each : FindStructs(code)) structs.push_back(each.name);
  std::optional<CppFunction> chosen;
  int candidates = 0;
  for (const CppFunction& each : source.functions) {
    const bool wanted = function.empty() ? source.functions.size() == 1 ||
                                               ParseSignature(each.signature, structs).ok()
                                         : NameOfFunction(each.signature) == function;
    if (!wanted) continue;
    chosen = each;
    ++candidates;
  }
  if (candidates != 1) return std::nullopt;
  // Whoever calls it calls it as it is.
  int named = 0;
  const std::string own = NameOfFunction(chosen->signature);
  MapIdentifiers(MaskedCpp(code), [&](const std::string& word) {
    named += word == own ? 1 : 0;
    return word;
  });
  if (named != 1) return std::nullopt;
  return chosen;
}

absl::StatusOr<PlainSource> WithPlainParameters(const std::string& code, const std::string& name,
                                                const std::string& function) {
  ASSIGN_OR_RETURN(std::optional<CppFunction> chosen, Chosen(code, name, function));
  if (!chosen) return PlainSource{.code = code, .changes = {}};
  if (const std::optional<FieldsApart> apart = WithFieldsApart(code, *chosen)) {
    ASSIGN_OR_RETURN(PlainSource plain,
                     WithPlainParameters(apart->code, name, NameOfFunction(chosen->signature)));
    plain.changes.insert(plain.changes.begin(), apart->changes.begin(), apart->changes.end());
    return plain;
  }
  std::optional<ArrayResult> result = WithArrayResult(code, *chosen);
  if (!result) result = WithWrittenResult(code, *chosen);
  if (!result) return Plain(code, name, *chosen).Make();
  ASSIGN_OR_RETURN(chosen, Chosen(result->code, name, NameOfFunction(chosen->signature)));
  CHECK(chosen.has_value());
  ASSIGN_OR_RETURN(PlainSource plain, Plain(result->code, name, *chosen).Make());
  plain.changes.insert(plain.changes.begin(), result->change);
  return plain;
}

}  // namespace

absl::StatusOr<PlainSource> MakePlain(const std::string& given, const std::string& name,
                                      const std::string& function) {
  const UnwrappedSource unwrapped = Unwrapped(given, function);
  ASSIGN_OR_RETURN(PlainSource plain, WithPlainParameters(unwrapped.code, name, function));
  plain.changes.insert(plain.changes.begin(), unwrapped.changes.begin(), unwrapped.changes.end());
  return plain;
}

}  // namespace whetstone
