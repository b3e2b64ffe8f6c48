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

// Returns the first place from `from` on where `word` stands by itself.
size_t FindWord(const std::string& masked, const std::string& word, size_t from) {
  for (size_t at = masked.find(word, from); at != kNoWord; at = masked.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !IsWordChar(masked[at - 1]);
    if (begins && (end == masked.size() || !IsWordChar(masked[end]))) return at;
  }
  return kNoWord;
}

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
    const size_t before = text.Before(at);
    if (at > 5 && masked.compare(before - 5, 6, "inline") == 0) head = before - 5;
    *code = *Edited(*code, {{head, open + 1, ""}, {close, close + 1, ""}});
    return name;
  }
  return "";
}

// Returns `code` without `name::` and `using namespace name;`.
std::string WithoutQualifier(const std::string& code, const std::string& name) {
  const CodeText text(code);
  const std::string& masked = text.masked();
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
    edits.push_back({begin, end + 2, ""});
  }
  return *Edited(code, std::move(edits));
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
        masked[text.Before(at)] == '>')
      continue;
    std::vector<TextEdit> edits = {{at, end + 1, ""}};
    for (size_t use = FindWord(masked, name, end); use != kNoWord;
         use = FindWord(masked, name, use + 1))
      edits.push_back({use, use + name.size(), type});
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

// Returns `code` with `wanted`, or the only function that no other one calls if that is empty,
// visible to other files, and no other one.
std::string WithVisibleRoot(const std::string& code, const std::string& wanted) {
  static const auto* const kHiding = new std::set<std::string>{"static", "inline", "constexpr"};
  const auto visible = [](const std::string& text) {
    return MapIdentifiers(text, [](const std::string& word) {
      return kHiding->count(word) > 0 ? std::string(word.size(), ' ') : word;
    });
  };
  const std::string masked = MaskedCpp(code);
  const absl::StatusOr<CppSource> source = ReadCppSource(visible(code), "");
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
    const std::string shown = visible(head);
    if (wanted.empty() ? CountOf(masked, name) == 1 : name == wanted) {
      ++roots;
      if (shown != head) edits.push_back({begin, function.open, shown});
    } else if (shown == head) {
      edits.push_back({begin, begin, "static "});
    }
  }
  return roots == 1 ? *Edited(code, std::move(edits)) : code;
}

// The templates of a file, all of one type each.
class Templates {
 public:
  explicit Templates(const std::string& code) : code_(code), text_(code), masked_(text_.masked()) {}

  std::optional<UnwrappedSource> Take() {
    for (size_t at = FindWord(masked_, "template", 0); at != kNoWord;
         at = FindWord(masked_, "template", at + 1)) {
      const size_t next = text_.Next(at + 8);
      if (!(masked_[next] == '<' ? ReadTemplate(at, next) : ReadInstantiation(at))) {
        return std::nullopt;
      }
    }
    if (templates_.empty() || types_.size() > 1) return std::nullopt;
    UnwrappedSource made{code_, {}};
    for (const Template& each : templates_) {
      const std::string type = !types_.empty() ? *types_.begin() : each.integral ? "int" : "double";
      edits_.push_back({each.begin, each.head, ""});
      for (size_t at = FindWord(masked_, each.parameter, each.head); at < each.end;
           at = FindWord(masked_, each.parameter, at + 1)) {
        edits_.push_back({at, at + each.parameter.size(), type});
      }
      const std::string change = absl::StrCat("'", each.parameter, "' is ", type);
      if (std::count(made.changes.begin(), made.changes.end(), change) == 0)
        made.changes.push_back(change);
    }
    std::optional<std::string> code = Edited(code_, std::move(edits_));
    if (!code) return std::nullopt;
    for (const Template& each : templates_) *code = WithoutArguments(*code, each.name);
    made.code = *std::move(code);
    return made;
  }

 private:
  struct Template {
    std::string parameter;
    std::string name;  // of what it is a template of
    bool integral = false;
    size_t begin = 0;  // of the word,
    size_t head = 0;   // of what it is a template of, and the end of that
    size_t end = 0;
  };

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
    Template made{words[1], "", absl::StrContains(words[0], "integral"), at, close + 1, 0};
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

  // What was name<type> is name.
  static std::string WithoutArguments(const std::string& code, const std::string& name) {
    const CodeText text(code);
    const std::string& masked = text.masked();
    std::vector<TextEdit> edits;
    for (size_t at = FindWord(masked, name, 0); at != kNoWord;
         at = FindWord(masked, name, at + 1)) {
      const size_t end = at + name.size();
      const size_t close = masked.find('>', end);
      if (end >= masked.size() || masked[end] != '<' || close == kNoWord) continue;
      const std::string inside = masked.substr(end + 1, close - end - 1);
      // A comparison of a variable is none.
      if (std::all_of(inside.begin(), inside.end(),
                      [](char c) { return IsWordChar(c) || c == ':' || c == ' '; })) {
        edits.push_back({end, close + 1, ""});
      }
    }
    return *Edited(code, std::move(edits));
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
  std::vector<std::string> names;
  for (std::string name = TakeNamespace(&made.code); !name.empty();
       name = TakeNamespace(&made.code)) {
    if (std::count(names.begin(), names.end(), name) == 0) names.push_back(name);
  }
  for (const std::string& name : names) {
    made.code = WithoutQualifier(made.code, name);
    for (const absl::string_view part : absl::StrSplit(name, "::"))
      made.code = WithoutQualifier(made.code, std::string(part));
    made.changes.push_back(absl::StrCat("what was in namespace '", name, "' is outside of it"));
  }
  if (std::optional<UnwrappedSource> taken = Templates(made.code).Take()) {
    made.code = std::move(taken->code);
    made.changes.insert(made.changes.end(), taken->changes.begin(), taken->changes.end());
  }
  while (TakeAlias(&made.code)) {
  }
  made.code = WithVisibleRoot(made.code, function);
  return made;
}

}  // namespace whetstone
