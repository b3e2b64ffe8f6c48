#include "coordinator/discover/code_clues.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/prompt/identifiers.h"

namespace whetstone {
namespace {

using Words = std::vector<std::string>;

// Returns words, numbers and other signs, "->", "::" and "<=" as one, without comments, texts and
// lines of the preprocessor.
Words WordsOf(absl::string_view code) {
  Words words;
  size_t i = 0;
  const auto at = [&](absl::string_view what) { return code.substr(i, what.size()) == what; };
  const auto skip_behind = [&](absl::string_view end, size_t from) {
    const size_t found = code.find(end, from);
    i = found == absl::string_view::npos ? code.size() : found + end.size();
  };
  while (i < code.size()) {
    const char c = code[i];
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (at("//") || c == '#') {
      do skip_behind("\n", i);
      while (i < code.size() && i >= 2 && code[i - 2] == '\\');
    } else if (at("/*")) {
      skip_behind("*/", i + 2);
    } else if (at("R\"")) {
      const std::string delimiter(
          code.substr(i + 2, std::min(code.find('(', i), code.size()) - i - 2));
      skip_behind(absl::StrCat(")", delimiter, "\""), i);
    } else if (c == '"' || c == '\'') {
      size_t end = i + 1;
      while (end < code.size() && code[end] != c) end += code[end] == '\\' ? 2 : 1;
      i = std::min(code.size(), end + 1);
    } else if (IsWordChar(c)) {
      size_t end = i;
      const bool number = absl::ascii_isdigit(static_cast<unsigned char>(c));  // 1'000
      while (end < code.size() && (IsWordChar(code[end]) || (number && code[end] == '\''))) ++end;
      words.emplace_back(code.substr(i, end - i));
      i = end;
    } else {
      const bool two = at("->") || at("::") || at("<=");
      words.emplace_back(code.substr(i, two ? 2 : 1));
      i += two ? 2 : 1;
    }
  }
  return words;
}

bool IsWord(const std::string& word) { return IsWordChar(word[0]); }

// Returns the place behind the bracket that closes the one at `open`.
size_t BehindClosing(const Words& words, size_t open) {
  int depth = 0;
  for (size_t i = open; i < words.size(); ++i) {
    depth += words[i] == "(" || words[i] == "[" ? 1 : words[i] == ")" || words[i] == "]" ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return words.size();
}

// Returns the end of what begins at `from` and binds more tightly than a division: a name with its
// members, indices and arguments, a number, or something in parentheses.
size_t EndOfOperand(const Words& words, size_t from) {
  size_t i = from;
  while (i < words.size()) {
    if (words[i] == "(" || words[i] == "[") {
      i = BehindClosing(words, i);
    } else if (words[i] == "<" && absl::EndsWith(words[i - 1], "_cast")) {
      while (i < words.size() && words[i] != "(") ++i;
    } else if (IsWord(words[i]) || words[i] == "." || words[i] == "->" || words[i] == "::") {
      ++i;
    } else {
      break;
    }
  }
  return i;
}

Words Part(const Words& words, size_t from, size_t end) {
  return {words.begin() + static_cast<std::ptrdiff_t>(from),
          words.begin() + static_cast<std::ptrdiff_t>(end)};
}

void AddDivisors(const Words& words, CodeClues* clues) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "/") continue;
    const size_t from = words[i + 1] == "=" ? i + 2 : i + 1;  // x /= y
    for (const std::string& word : Part(words, from, EndOfOperand(words, from))) {
      if (IsWord(word)) clues->divisors.insert(word);
    }
  }
}

// (int)(LENGTH / step), static_cast<size_t>(LENGTH).
void AddCounts(const Words& words, CodeClues* clues) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "int" && words[i] != "long" && words[i] != "size_t") continue;
    const bool closed = words[i + 1] == ")" && i > 0 && words[i - 1] == "(";
    const bool cast = words[i + 1] == ">" || closed;
    const size_t from = cast ? i + 2 : i + 1;
    // A declaration, int (x), is none.
    if (from >= words.size() || (!closed && words[from] != "(")) continue;
    const size_t end = EndOfOperand(words, from);
    for (const std::string& word : Part(words, from, std::min(end, words.size())))
      if (IsWord(word) && !absl::ascii_isdigit(static_cast<unsigned char>(word[0])))
        clues->counts.insert(word);
  }
}

void AddBegins(const Words& words, CodeClues* clues) {
  std::map<std::string, std::set<std::string>> indices;  // by array
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (!IsWord(words[i]) || words[i + 1] != "[") continue;
    const size_t end = BehindClosing(words, i + 1);
    if (words[end - 1] != "]") continue;
    indices[words[i]].insert(absl::StrJoin(Part(words, i + 2, end - 1), " "));
  }
  for (const auto& [array, of_array] : indices) {
    for (const std::string& index : of_array) {
      if (of_array.count(index + " + 1") > 0) clues->begins.insert(array);
    }
  }
}

// What a bound is made of: "deal." and "first", or "begins" and "[t]".
struct Bound {
  std::string name;
  std::string of;  // the rest, which both bounds share
};

Bound BoundOf(const Words& words) {
  Bound bound;
  if (words.size() < 3) return bound;
  if (IsWord(words.back()) && (words[words.size() - 2] == "." || words[words.size() - 2] == "->")) {
    bound.name = words.back();
    bound.of = absl::StrJoin(Part(words, 0, words.size() - 1), " ");
  } else if (IsWord(words[0]) && words[1] == "[" && BehindClosing(words, 1) == words.size()) {
    bound.name = words[0];
    bound.of = absl::StrJoin(Part(words, 1, words.size()), " ");
  }
  return bound;
}

// for (int i = FIRST; i < LAST;
void AddRanges(const Words& words, CodeClues* clues) {
  const auto find = [&](const char* what, size_t from) {
    return static_cast<size_t>(
        std::find(words.begin() + static_cast<std::ptrdiff_t>(std::min(from, words.size())),
                  words.end(), what) -
        words.begin());
  };
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "for" || words[i + 1] != "(") continue;
    const size_t equals = find("=", i), begun = find(";", i), ends = find(";", begun + 1);
    if (equals == 0 || equals >= begun || ends >= words.size() || begun + 2 >= ends) continue;
    const std::string& counter = words[equals - 1];
    const std::string& compared = words[begun + 2];
    if (words[begun + 1] != counter || (compared != "<" && compared != "<=")) continue;
    const Bound first = BoundOf(Part(words, equals + 1, begun));
    const Bound last = BoundOf(Part(words, begun + 3, ends));
    if (first.name.empty() || last.name.empty() || first.of != last.of) continue;
    if (first.name != last.name) clues->ranges.insert({first.name, last.name});
  }
}

}  // namespace

CodeClues CluesIn(absl::string_view code) {
  CodeClues clues;
  const Words words = WordsOf(code);
  AddDivisors(words, &clues);
  AddCounts(words, &clues);
  AddBegins(words, &clues);
  AddRanges(words, &clues);
  return clues;
}

}  // namespace whetstone
