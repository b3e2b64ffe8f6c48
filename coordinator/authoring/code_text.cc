#include "coordinator/authoring/code_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/problem/cpp_text.h"
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

CodeText::CodeText(const std::string& code)
    : masked_(MaskedCpp(code)),
      words_(WordsOf(masked_)),
      unseen_(WordsOfDirectives(code)),
      raw_strings_(absl::StrContains(code, "R\"")) {}

std::string CodeText::Fresh(std::string name) {
  while (words_.count(name) > 0) name += "_";
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
    if (IsWordChar(masked_[before])) {
      size_t begin = before;
      while (begin > 0 && IsWordChar(masked_[begin - 1])) --begin;
      if (!MayPrecedeAUse(masked_.substr(begin, before + 1 - begin))) return std::nullopt;
    }
    // double a = 1, x[2] = {…};
    const size_t next = Next(at + name.size());
    if ((masked_[before] == ',' || masked_[before] == '>') && masked_[next] == '[') {
      const size_t behind = Next(ClosingOf(masked_, next, '[', ']') + 1);
      const char sign = masked_[behind];
      if (sign == ';' || sign == '{' || (sign == '=' && masked_[behind + 1] != '='))
        return std::nullopt;
    }
    uses.push_back(at);
  }
  return uses;
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

size_t CodeText::ClosingBrace(size_t open) const { return ClosingOf(masked_, open, '{', '}'); }

}  // namespace whetstone
