#include "coordinator/authoring/unwrapped_source.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/problem/cpp_text.h"
#include "coordinator/authoring/code_text.h"
#include "coordinator/prompt/cpp_source.h"
#include "coordinator/prompt/identifiers.h"

namespace whetstone {
namespace {

constexpr size_t kNoWord = std::string::npos;

// Takes the first named namespace away; returns its name, empty where there is none.
std::string TakeNamespace(std::string* code) {
  const CodeText text(*code);
  const std::string& masked = text.masked();
  for (size_t at = FindWord(masked, "namespace", 0); at != kNoWord;
       at = FindWord(masked, "namespace", at + 1)) {
    const size_t begin = text.Next(at + 9);
    const size_t open = masked.find_first_of("{;=", begin);
    if (open == kNoWord || masked[open] != '{' || open == begin) continue;
    const std::string name(absl::StripAsciiWhitespace(masked.substr(begin, open - begin)));
    const bool named =
        std::all_of(name.begin(), name.end(), [](char c) { return IsWordChar(c) || c == ':'; });
    const size_t close = text.ClosingBrace(open);
    if (!named || name == "std" || close == kNoWord) continue;
    // An `inline` before it goes too.
    size_t head = at;
    const std::string before(absl::StripTrailingAsciiWhitespace(masked.substr(0, at)));
    if (absl::EndsWith(before, "inline")) head = before.size() - 6;
    *code = *Edited(*code, {{head, open + 1, ""}, {close, close + 1, ""}});
    return name;
  }
  return "";
}

// Returns the names of all structs, enums and aliases.
std::set<std::string> TypesIn(const std::string& code) {
  const CodeText text(code);
  std::set<std::string> types;
  for (const char* kind : {"struct", "class", "enum", "using"}) {
    for (size_t at = FindWord(text.masked(), kind, 0); at != kNoWord;
         at = FindWord(text.masked(), kind, at + 1)) {
      const size_t begin = text.Next(at + std::string(kind).size());
      types.insert(text.masked().substr(begin, text.WordEnd(begin) - begin));
    }
  }
  return types;
}

// Returns `code` without `using namespace name;`, and with `::x` for `name::x`, or x where that is
// a type: what is called may have another one's name nearby.
std::string WithoutQualifier(const std::string& code, const std::string& name) {
  const CodeText text(code);
  const std::string& masked = text.masked();
  const std::set<std::string> types = TypesIn(code);
  std::vector<TextEdit> edits;
  for (size_t at = FindWord(masked, name, 0); at != kNoWord; at = FindWord(masked, name, at + 1)) {
    const size_t end = at + name.size();
    const size_t used = masked.rfind("using", at);
    if (used != kNoWord && masked[text.Next(end)] == ';' &&
        absl::StripAsciiWhitespace(masked.substr(used + 5, at - used - 5)) == "namespace") {
      edits.push_back({used, text.Next(end) + 1, ""});
      continue;
    }
    if (masked.compare(end, 2, "::") != 0) continue;
    const size_t begin = at >= 2 && masked.compare(at - 2, 2, "::") == 0 ? at - 2 : at;
    if (begin < at && begin > 0 && IsWordChar(masked[begin - 1])) continue;  // another's
    const std::string qualified = masked.substr(end + 2, text.WordEnd(end + 2) - end - 2);
    edits.push_back({begin, end + 2, types.count(qualified) > 0 ? "" : "::"});
  }
  return *Edited(code, std::move(edits));
}

std::string WithoutHiding(const std::string& text) {
  return MapIdentifiers(text, [](const std::string& word) {
    const bool hides = word == "static" || word == "inline" || word == "constexpr";
    return hides ? std::string(word.size(), ' ') : word;
  });
}

// Says whether two functions, or one and one of the library's, have one name: outside of their
// namespaces another one may be called.
bool HasNamesTwice(const std::string& code) {
  static const auto* const kLibrary = new std::set<std::string>{
      "abs",        "acos",      "arg",       "asin",    "atan",   "atan2", "begin",    "cbrt",
      "ceil",       "clamp",     "copy",      "cos",     "cosh",   "count", "data",     "div",
      "end",        "erf",       "exp",       "exp2",    "fabs",   "fill",  "find",     "floor",
      "fma",        "fmax",      "fmin",      "fmod",    "gamma",  "gcd",   "hypot",    "imag",
      "index",      "j0",        "j1",        "lcm",     "lerp",   "log",   "log10",    "log2",
      "max",        "merge",     "min",       "move",    "norm",   "pow",   "real",     "round",
      "rotate",     "sign",      "sin",       "sinh",    "size",   "sort",  "sqrt",     "swap",
      "tan",        "tanh",      "time",      "trunc",   "y0",     "y1",    "distance", "midpoint",
      "accumulate", "partition", "transform", "reverse", "search", "unique"};
  const absl::StatusOr<CppSource> source = ReadCppSource(WithoutHiding(code), "");
  if (!source.ok()) return true;
  std::set<std::string> names;
  return std::any_of(source->functions.begin(), source->functions.end(), [&](const auto& function) {
    const std::string name = NameOfFunction(function.signature);
    return kLibrary->count(name) > 0 || !names.insert(name).second;
  });
}

// Writes out the first alias of a type, `using Row = std::vector<int>;`; false: there is none.
bool TakeAlias(std::string* code) {
  const CodeText text(*code);
  const std::string& masked = text.masked();
  for (size_t at = FindWord(masked, "using", 0); at != kNoWord;
       at = FindWord(masked, "using", at + 1)) {
    const size_t begin = text.Next(at + 5);
    const size_t name_end = text.WordEnd(begin);
    const size_t equals = text.Next(name_end);
    const size_t end = masked.find(';', equals);
    const std::string name = masked.substr(begin, name_end - begin);
    if (masked[equals] != '=' || end == kNoWord || name.empty()) continue;
    const std::string type(absl::StripAsciiWhitespace(masked.substr(equals + 1, end - equals - 1)));
    // One within a struct or function, or of a template, means something there only.
    const std::string before = masked.substr(0, at);
    const bool inside = std::count(before.begin(), before.end(), '{') !=
                        std::count(before.begin(), before.end(), '}');
    if (inside || FindWord(type, name, 0) != kNoWord || absl::StrContains(type, "(") ||
        absl::StrContains(type, "[") || (at > 0 && masked[text.Before(at)] == '>'))
      continue;
    std::vector<TextEdit> edits = {{at, end + 1, ""}};
    bool makes_values = false;
    for (size_t use = FindWord(masked, name, end); use != kNoWord;
         use = FindWord(masked, name, use + 1)) {
      edits.push_back({use, use + name.size(), type});
      makes_values =
          makes_values || absl::StrContains("({", masked.substr(text.Next(use + name.size()), 1));
    }
    // A type of several words makes none so.
    if (makes_values && !absl::StrContains(type, "<") && absl::StrContains(type, " ")) continue;
    *code = *Edited(*code, std::move(edits));
    return true;
  }
  return false;
}

// Returns how often a word stands in code.
int CountOf(const std::string& masked, const std::string& word) {
  int count = 0;
  for (size_t at = FindWord(masked, word, 0); at != kNoWord; at = FindWord(masked, word, at + 1))
    ++count;
  return count;
}

// Returns how often a word stands in braces, where functions are called.
int CallsOf(const std::string& masked, const std::string& word) {
  int depth = 0, calls = 0;
  size_t at = 0;
  for (size_t use = FindWord(masked, word, 0); use != kNoWord;
       use = FindWord(masked, word, use + 1)) {
    for (; at < use; ++at) depth += masked[at] == '{' ? 1 : masked[at] == '}' ? -1 : 0;
    if (depth > 0) ++calls;
  }
  return calls;
}

// Returns `code` with `wanted`, or the only function that no other one calls if that is empty,
// visible to other files, and no other one. One that is declared first stays as it is.
std::string WithVisibleRoot(const std::string& code, const std::string& wanted) {
  const std::string masked = MaskedCpp(code);
  const absl::StatusOr<CppSource> source = ReadCppSource(WithoutHiding(code), "");
  if (!source.ok()) return code;
  std::vector<TextEdit> edits;
  int roots = 0;
  for (const CppFunction& function : source->functions) {
    const std::string name = NameOfFunction(function.signature);
    // What hides it was blank when its head was looked for.
    const size_t before =
        function.head == 0 ? kNoWord : masked.find_last_of(";}", function.head - 1);
    const size_t begin = masked.find_first_not_of(" \t\n", before == kNoWord ? 0 : before + 1);
    const std::string head = masked.substr(begin, function.open - begin);
    if (absl::StrContains(head, name + "::") || absl::StrContains(head, "::" + name)) continue;
    const std::string shown = WithoutHiding(head);
    if (wanted.empty() ? CallsOf(masked, name) == 0 : name == wanted) {
      ++roots;
      if (shown != head) edits.push_back({begin, function.open, shown});
    } else if (shown == head && CountOf(masked, name) == CallsOf(masked, name) + 1) {
      edits.push_back({begin, begin, "static "});
    }
  }
  return roots == 1 ? *Edited(code, std::move(edits)) : code;
}

// A function that is a template of one type, and the structs that it takes.
class Templates {
 public:
  explicit Templates(const std::string& code) : code_(code), text_(code), masked_(text_.masked()) {}

  std::optional<UnwrappedSource> Take(const std::string& function) {
    for (size_t at = FindWord(masked_, "template", 0); at != kNoWord;
         at = FindWord(masked_, "template", at + 1)) {
      const size_t next = text_.Next(at + 8);
      if (!(masked_[next] == '<' ? ReadTemplate(at, next) : ReadInstantiation(at))) {
        return std::nullopt;
      }
    }
    if (types_.size() > 1 || !ChooseRoot(function)) return std::nullopt;
    const auto root = std::find_if(templates_.begin(), templates_.end(),
                                   [](const Template& each) { return each.taken; });
    const std::string type = !types_.empty() ? *types_.begin() : root->integral ? "int" : "double";
    TakeStructs();
    for (const Template& each : templates_) {
      if (!each.taken) continue;
      edits_.push_back({each.begin, each.head, ""});
      for (size_t at = FindWord(masked_, each.parameter, each.head); at < each.end;
           at = FindWord(masked_, each.parameter, at + 1)) {
        edits_.push_back({at, at + each.parameter.size(), type});
      }
    }
    std::optional<std::string> code = Edited(code_, std::move(edits_));
    if (!code) return std::nullopt;
    for (const Template& each : templates_) {
      if (each.taken && !WithoutArguments(each.name, type, &*code)) return std::nullopt;
    }
    return UnwrappedSource{
        *std::move(code),
        {absl::StrCat("'", root->parameter, "' of '", root->name, "' is ", type)}};
  }

 private:
  struct Template {
    std::string parameter;
    std::string name;  // of what it is a template of
    bool integral = false;
    bool is_struct = false;
    bool taken = false;
    size_t begin = 0;  // of the word,
    size_t head = 0;   // of what it is a template of, where its braces open, and the end
    size_t open = 0;
    size_t end = 0;
  };

  // The function that is meant is a template that no other one calls.
  bool ChooseRoot(const std::string& wanted) {
    const absl::StatusOr<CppSource> source = ReadCppSource(WithoutHiding(code_), "");
    if (!source.ok()) return false;
    const auto is_root = [&](const std::string& name) {
      return wanted.empty() ? CallsOf(masked_, name) == 0 : name == wanted;
    };
    if (std::any_of(source->functions.begin(), source->functions.end(), [&](const auto& function) {
          return is_root(NameOfFunction(function.signature));
        }))
      return false;
    int roots = 0;
    for (Template& each : templates_) {
      each.taken = !each.is_struct && is_root(each.name);
      roots += each.taken ? 1 : 0;
    }
    return roots == 1;
  }

  // With it goes what it takes, what that holds, and which functions take these.
  void TakeStructs() {
    for (bool more = true; more;) {
      more = false;
      for (Template& each : templates_) {
        if (each.taken) continue;
        const auto names = [&](const Template& other, const std::string& name) {
          const std::string head =
              masked_.substr(other.head, (other.is_struct ? other.end : other.open) - other.head);
          return FindWord(head, name, 0) != kNoWord;
        };
        const bool takes =
            std::any_of(templates_.begin(), templates_.end(), [&](const auto& other) {
              if (!other.taken) return false;
              return each.is_struct ? names(other, each.name)
                                    : other.is_struct && names(each, other.name);
            });
        each.taken = takes;
        more = more || takes;
      }
    }
  }

  // template <typename T> double f(…) {…}
  bool ReadTemplate(size_t at, size_t open) {
    const size_t close = masked_.find('>', open);
    if (close == kNoWord) return false;
    const std::string inside = masked_.substr(open + 1, close - open - 1);
    const std::vector<std::string> words =
        absl::StrSplit(inside, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
    static const auto* const kNumbers = new std::set<std::string>{
        "int",    "unsigned",    "long",    "bool",         "char",    "auto",
        "size_t", "std::size_t", "int64_t", "std::int64_t", "uint64_t"};
    if (words.size() != 2 || absl::StrContains(inside, ",") || kNumbers->count(words[0]) > 0 ||
        absl::StrContains(words[0], ".")) {
      return false;
    }
    Template made{.parameter = words[1],
                  .name = "",
                  .integral = absl::StrContains(words[0], "integral"),
                  .begin = at,
                  .head = close + 1};
    const size_t body = masked_.find_first_of("{;", close);
    if (body == kNoWord) return false;
    made.end = masked_[body] == ';' ? body : text_.ClosingBrace(body);
    const std::string head = masked_.substr(close + 1, body - close - 1);
    // The name is the word before the parameters, or of a struct the last one.
    size_t name_end = head.find('(');
    if (name_end == kNoWord) name_end = head.size();
    while (name_end > 0 && !IsWordChar(head[name_end - 1])) --name_end;
    size_t name = name_end;
    while (name > 0 && IsWordChar(head[name - 1])) --name;
    made.name = head.substr(name, name_end - name);
    made.open = body;
    made.is_struct = !absl::StrContains(head, "(");
    if (made.end == kNoWord || made.name.empty() || absl::StrContains(head, "requires"))
      return false;
    templates_.push_back(std::move(made));
    return true;
  }

  // template double f<double>(…);
  bool ReadInstantiation(size_t at) {
    const size_t end = masked_.find(';', at);
    const size_t open = masked_.find('<', at);
    if (end == kNoWord || open > end) return false;
    // The last list of arguments before the parameters is the name's.
    const size_t parameters = std::min(masked_.find('(', at), end);
    const size_t list = masked_.rfind('<', parameters);
    const size_t close = masked_.find('>', list);
    if (list < at || close > parameters) return false;
    types_.insert(
        std::string(absl::StripAsciiWhitespace(masked_.substr(list + 1, close - list - 1))));
    edits_.push_back({at, end + 1, ""});
    return true;
  }

  // What was name<type> is name; false: there are others.
  static bool WithoutArguments(const std::string& name, const std::string& type,
                               std::string* code) {
    const CodeText text(*code);
    const std::string& masked = text.masked();
    std::vector<TextEdit> edits;
    for (size_t at = FindWord(masked, name, 0); at != kNoWord;
         at = FindWord(masked, name, at + 1)) {
      const size_t end = at + name.size();
      const size_t close = masked.find('>', end);
      if (end >= masked.size() || masked[end] != '<' || close == kNoWord) continue;
      if (absl::StripAsciiWhitespace(masked.substr(end + 1, close - end - 1)) != type) return false;
      edits.push_back({end, close + 1, ""});
    }
    *code = *Edited(*code, std::move(edits));
    return true;
  }

  const std::string& code_;
  const CodeText text_;
  const std::string& masked_;
  std::vector<Template> templates_;
  std::set<std::string> types_;  // of instantiations
  std::vector<TextEdit> edits_;
};

}  // namespace

UnwrappedSource Unwrapped(const std::string& code, const std::string& function) {
  UnwrappedSource made{code, {}};
  std::string outside = code;
  std::vector<std::string> names;
  for (std::string name = TakeNamespace(&outside); !name.empty(); name = TakeNamespace(&outside)) {
    if (std::count(names.begin(), names.end(), name) == 0) names.push_back(name);
  }
  if (!names.empty() && !HasNamesTwice(outside)) {
    for (const std::string& name : names) {
      outside = WithoutQualifier(outside, name);
      for (const absl::string_view part : absl::StrSplit(name, "::"))
        outside = WithoutQualifier(outside, std::string(part));
      made.changes.push_back(absl::StrCat("what was in namespace '", name, "' is outside of it"));
    }
    made.code = std::move(outside);
  }
  if (std::optional<UnwrappedSource> taken = Templates(made.code).Take(function)) {
    made.code = std::move(taken->code);
    made.changes.insert(made.changes.end(), taken->changes.begin(), taken->changes.end());
  }
  while (TakeAlias(&made.code)) {
  }
  made.code = WithVisibleRoot(made.code, function);
  return made;
}

}  // namespace whetstone
