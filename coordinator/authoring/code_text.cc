#include "coordinator/authoring/code_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/problem/cpp_text.h"
#include "coordinator/authoring/given_parameter.h"
#include "coordinator/prompt/identifiers.h"

namespace whetstone {
namespace {

std::set<std::string> WordsOf(const std::string& text) {
  std::set<std::string> words;
  MapIdentifiers(text, [&](const std::string& word) {
    words.insert(word);
    return word;
  });
  return words;
}

// Words of lines for the preprocessor, in which nothing is rewritten.
std::set<std::string> WordsOfDirectives(const std::string& code) {
  std::set<std::string> words;
  bool continues = false;
  for (const absl::string_view line : absl::StrSplit(code, '\n')) {
    const absl::string_view directive = absl::StripLeadingAsciiWhitespace(line);
    if (absl::StartsWith(directive, "#include")) continue;
    if (continues || absl::StartsWith(directive, "#"))
      words.merge(WordsOf(std::string(line)));
    else
      continue;
    continues = absl::EndsWith(line, "\\");
  }
  return words;
}

// Says whether a name behind this word is not declared by it.
bool MayPrecedeAUse(const std::string& word) {
  static const auto* const known = new std::set<std::string>{
      "return", "case", "else", "do", "and", "or", "not", "throw", "co_return", "co_yield"};
  return known->count(word) > 0;
}

size_t ClosingOf(const std::string& masked, size_t open, char opening, char closing) {
  int depth = 0;
  for (size_t at = open; at < masked.size(); ++at) {
    if (masked[at] == opening) ++depth;
    if (masked[at] == closing && --depth == 0) return at;
  }
  return std::string::npos;
}

}  // namespace

std::optional<std::string> Edited(const std::string& code, std::vector<TextEdit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const TextEdit& a, const TextEdit& b) { return a.begin < b.begin; });
  std::string text;
  size_t done = 0;
  for (const TextEdit& edit : edits) {
    if (edit.begin < done) return std::nullopt;
    text += code.substr(done, edit.begin - done) + edit.text;
    done = edit.end;
  }
  return text + code.substr(done);
}

size_t FindWord(const std::string& masked, const std::string& word, size_t from) {
  for (size_t at = masked.find(word, from); at != std::string::npos;
       at = masked.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !IsWordChar(masked[at - 1]);
    if (begins && (end == masked.size() || !IsWordChar(masked[end]))) return at;
  }
  return std::string::npos;
}

CodeText::CodeText(const std::string& code)
    : masked_(MaskedCpp(code)),
      words_(WordsOf(masked_)),
      unseen_(WordsOfDirectives(code)),
      raw_strings_(absl::StrContains(masked_, "R\"")) {}

std::string CodeText::Fresh(std::string name) {
  while (words_.count(name) > 0 || unseen_.count(name) > 0) name += "_";
  words_.insert(name);
  return name;
}

std::optional<std::vector<size_t>> CodeText::UsesOf(const std::string& name, size_t first,
                                                    size_t last) const {
  if (unseen_.count(name) > 0 || raw_strings_) return std::nullopt;
  std::vector<size_t> uses;
  for (size_t at = masked_.find(name, first); at < last; at = masked_.find(name, at + 1)) {
    if (IsWordChar(masked_[at - 1]) || IsWordChar(masked_[at + name.size()])) continue;
    const size_t before = Before(at);
    const bool field = masked_[before] == '.' ||
                       (masked_[before] == '>' && masked_[before - 1] == '-') ||
                       (masked_[before] == ':' && masked_[before - 1] == ':');
    if (field) continue;
    if (MayDeclare(at)) return std::nullopt;
    uses.push_back(at);
  }
  return uses;
}

std::string CodeText::WordBefore(size_t last) const {
  size_t begin = last + 1;
  while (begin > 0 && IsWordChar(masked_[begin - 1])) --begin;
  return masked_.substr(begin, last + 1 - begin);
}

bool CodeText::MayDeclare(size_t at) const {
  const std::string word = WordBefore(Before(at));
  if (!word.empty()) return !MayPrecedeAUse(word);
  // The statement up to here: "const int* ", "double a = 1, ".
  size_t begin = at;
  int depth = 0;
  for (; begin > 0; --begin) {
    const char c = masked_[begin - 1];
    if (c == ')' || c == ']') ++depth;
    const bool opens = c == '(' || c == '[';
    if (c == ';' || c == '{' || c == '}' || (opens && depth == 0)) break;
    if (opens) --depth;
  }
  const bool within = begin > 0 && (masked_[begin - 1] == '(' || masked_[begin - 1] == '[');
  if (within && WordBefore(Before(begin - 1)) != "for") return false;
  const std::string text = masked_.substr(begin, at - begin);
  const std::vector<std::string> parts = SplitParameters(text);
  const std::string last = std::string(absl::StripAsciiWhitespace(parts.back()));
  const std::string first = std::string(absl::StripAsciiWhitespace(parts[0]));
  if (MayPrecedeAUse(first.substr(0, first.find_first_of(" *&<(")))) return false;
  if (parts.size() > 1) {
    // Another declarator, where the first one is a type and a name.
    const std::string declared(
        absl::StripAsciiWhitespace(first.substr(0, first.find_first_of("=[({"))));
    const size_t space = declared.find_last_of(" *&>");
    return last.find_first_not_of("*&") == std::string::npos && space != std::string::npos &&
           space > 0 && first.find_first_of("+-/%!?") == std::string::npos;
  }
  // A type alone, of which all angles close: "a &&" is a condition.
  if (last.empty() || !IsWordChar(last[0]) ||
      !absl::StrContains("*&>", last.substr(last.size() - 1)))
    return false;
  if (absl::EndsWith(last, "&&")) return absl::StartsWith(last, "auto");
  return std::count(last.begin(), last.end(), '<') == std::count(last.begin(), last.end(), '>') &&
         std::all_of(last.begin(), last.end(), [](char c) {
           return IsWordChar(c) || absl::StrContains(" :<>,*&", std::string(1, c));
         });
}

bool CodeText::IsAddressTaken(size_t at) const {
  size_t before = Before(at);
  while (masked_[before] == '(') before = Before(before);
  if (masked_[before] != '&' || masked_[before - 1] == '&') return false;
  const size_t operand = Before(before);
  const std::string word = WordBefore(operand);
  if (!word.empty()) return MayPrecedeAUse(word);
  return masked_[operand] != ')' && masked_[operand] != ']';
}

size_t CodeText::CopyingLambda(size_t begin, size_t end) const {
  for (size_t at = masked_.find('[', begin); at < end; at = masked_.find('[', at + 1))
    if (masked_[Next(at + 1)] == '=') return at;
  return std::string::npos;
}

std::vector<size_t> CodeText::OwnReturns(size_t begin, size_t end) const {
  std::vector<size_t> places;
  for (size_t at = FindWord(masked_, "return", begin); at < end;
       at = FindWord(masked_, "return", at + 1)) {
    if (!IsInLambda(at, begin)) places.push_back(at);
  }
  return places;
}

bool CodeText::IsInLambda(size_t at, size_t begin) const {
  for (size_t open = masked_.find('[', begin); open < at; open = masked_.find('[', open + 1)) {
    // What is indexed stands before its bracket; an attribute has two; auto& [a, b] declares.
    const size_t before = Before(open);
    size_t word = before;
    while (masked_[word] == '&') word = Before(word);
    const bool index = masked_[before] == ')' || masked_[before] == ']' || masked_[before] == '[' ||
                       masked_[open + 1] == '[' || WordBefore(word) == "auto" ||
                       (IsWordChar(masked_[before]) && !MayPrecedeAUse(WordBefore(before)));
    if (index) continue;
    const size_t close = ClosingBracket(open);
    const size_t body = close < at ? masked_.find_first_of("{;", close) : at;
    if (body < at && masked_[body] == '{' && at < ClosingBrace(body)) return true;
  }
  return false;
}

size_t CodeText::Next(size_t at) const {
  while (at + 1 < masked_.size() && absl::ascii_isspace(static_cast<unsigned char>(masked_[at])))
    ++at;
  return at;
}

size_t CodeText::Before(size_t at) const {
  while (at > 1 && absl::ascii_isspace(static_cast<unsigned char>(masked_[at - 1]))) --at;
  return at - 1;
}

size_t CodeText::WordEnd(size_t at) const {
  while (at < masked_.size() && IsWordChar(masked_[at])) ++at;
  return at;
}

size_t CodeText::Closing(size_t open) const { return ClosingOf(masked_, open, '(', ')'); }

size_t CodeText::ClosingBracket(size_t open) const { return ClosingOf(masked_, open, '[', ']'); }

size_t CodeText::ClosingBrace(size_t open) const { return ClosingOf(masked_, open, '{', '}'); }

std::optional<FunctionHead> HeadOf(const CodeText& text, const CppFunction& function) {
  const std::string& masked = text.masked();
  FunctionHead head;
  head.open = masked.find('(', function.head);
  head.close = head.open < function.open ? text.Closing(head.open) : std::string::npos;
  if (head.close == std::string::npos || head.close > function.open) return std::nullopt;
  head.name = text.Before(head.open) + 1;
  while (head.name > function.head && IsWordChar(masked[head.name - 1])) --head.name;
  const std::string type = masked.substr(function.head, head.name - function.head);
  const absl::string_view result = absl::StripAsciiWhitespace(type);
  head.result = std::string(absl::StripAsciiWhitespace(absl::StripPrefix(result, "[[nodiscard]]")));
  return head;
}

}  // namespace whetstone
