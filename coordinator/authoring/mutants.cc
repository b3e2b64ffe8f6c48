#include "coordinator/authoring/mutants.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/problem/cpp_text.h"
#include "coordinator/prompt/identifiers.h"

namespace whetstone {
namespace {

// What a condition calls to show that it was reached.
constexpr char kReached[] = "static bool whet_reached() { *(volatile int*)0 = 0; return true; }\n";

// A Span is a part of the text, [begin, end).
struct Span {
  size_t begin = 0;
  size_t end = 0;
};

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

class MutantMaker {
 public:
  explicit MutantMaker(absl::string_view code) : code_(code), bare_(MaskedCpp(code)) {}

  void Make() {
    for (size_t at = 0; at < bare_.size();) {
      if (!IsWordChar(bare_[at])) {
        ++at;
        continue;
      }
      size_t end = at;
      while (end < bare_.size() &&
             (IsWordChar(bare_[end]) || (IsDigit(bare_[at]) && InNumber(end)))) {
        ++end;
      }
      const std::string word = bare_.substr(at, end - at);
      if (IsDigit(word[0])) {
        if (at == 0 || bare_[at - 1] != '.') Number({at, end});
      } else if (word == "if" || word == "while") {
        Condition(end, /*loop=*/word == "while");
      } else if (word == "for") {
        Loop(end);
      } else if (word == "case" || word == "default") {
        Case(at, end);
      }
      at = end;
    }
  }

  std::vector<Mutant> reach, wrong;

 private:
  // Whether a number that began before goes on: 1.5, 1e-3, 1'000.
  bool InNumber(size_t at) const {
    const char c = bare_[at], before = bare_[at - 1];
    return c == '.' || c == '\'' || ((c == '+' || c == '-') && (before == 'e' || before == 'E'));
  }

  // Returns what lies within the brackets that open next, or nothing.
  Span Brackets(size_t at) const {
    const size_t open = bare_.find_first_not_of(" \n\t", at);
    if (open == std::string::npos || bare_[open] != '(') return {};
    int depth = 0;
    for (size_t i = open; i < bare_.size(); ++i) {
      depth += bare_[i] == '(' ? 1 : bare_[i] == ')' ? -1 : 0;
      if (depth == 0) return {open + 1, i};
    }
    return {};
  }

  // Returns the places of a character outside all further brackets.
  std::vector<size_t> Outside(Span span, char c) const {
    std::vector<size_t> places;
    int depth = 0;
    for (size_t i = span.begin; i < span.end; ++i) {
      if (bare_[i] == c && depth == 0) places.push_back(i);
      depth += bare_[i] == '(' || bare_[i] == '[' || bare_[i] == '{'   ? 1
               : bare_[i] == ')' || bare_[i] == ']' || bare_[i] == '}' ? -1
                                                                       : 0;
    }
    return places;
  }

  std::string Text(Span span) const {
    return std::string(absl::StripAsciiWhitespace(code_.substr(span.begin, span.end - span.begin)));
  }

  void Add(std::vector<Mutant>* to, Mutant::Kind kind, Span place, std::string change,
           const std::string& by) {
    to->push_back({kind, LineAt(code_, place.begin), std::move(change),
                   absl::StrCat(kind == Mutant::Kind::kReach ? kReached : "",
                                code_.substr(0, place.begin), by, code_.substr(place.end))});
  }

  void Reach(Span condition, bool value) {
    const std::string text = Text(condition);
    Add(&reach, Mutant::Kind::kReach, condition,
        absl::StrCat("'", text, "' is never ", value ? "true" : "false"),
        absl::StrCat("(", text, value ? ") && whet_reached()" : ") || whet_reached()"));
  }

  void Condition(size_t at, bool loop) {
    Span condition = Brackets(at);
    if (condition.end == condition.begin) return;
    const std::vector<size_t> ends = Outside(condition, ';');
    if (!ends.empty()) condition.begin = ends.back() + 1;  // if (int x = f(); x > 0)
    Reach(condition, true);
    if (loop) return;
    Reach(condition, false);
    const std::string text = Text(condition);
    Add(&wrong, Mutant::Kind::kWrong, condition, absl::StrCat("'if (", text, ")' is left out"),
        absl::StrCat("(", text, ") && false"));
  }

  void Loop(size_t at) {
    const Span all = Brackets(at);
    const std::vector<size_t> ends = Outside(all, ';');
    if (ends.size() != 2) return;
    const Span condition = {ends[0] + 1, ends[1]};
    if (Text(condition).empty()) return;
    Reach(condition, true);
    Bound(condition);
  }

  // Of a condition that is one comparison.
  void Bound(Span condition) {
    std::vector<size_t> places = Outside(condition, '<');
    for (const size_t greater : Outside(condition, '>')) places.push_back(greater);
    if (places.size() != 1 || !Outside(condition, '&').empty() ||
        !Outside(condition, '|').empty()) {
      return;
    }
    const size_t at = places[0];
    const bool less = bare_[at] == '<', equal = bare_[at + 1] == '=';
    const std::string left = Text({condition.begin, at});
    const std::string right = Text({at + (equal ? 2u : 1u), condition.end});
    const std::string off = equal ? "" : less ? " - 1" : " + 1";
    Add(&wrong, Mutant::Kind::kWrong, condition,
        absl::StrCat("'", Text(condition), "' ends one earlier"),
        absl::StrCat(left, less ? " < " : " > ", "(", right, ")", off));
  }

  void Case(size_t at, size_t end) {
    // The colon that ends it; not one of "::".
    size_t colon = bare_.find(':', end);
    while (colon != std::string::npos && bare_[colon + 1] == ':')
      colon = bare_.find(':', colon + 2);
    if (colon == std::string::npos || bare_.find_first_of(";{}", end) < colon) return;
    Add(&reach, Mutant::Kind::kReach, {colon, colon + 1},
        absl::StrCat("'", Text({at, colon}), "' is never reached"), ": whet_reached();");
  }

  void Number(Span number) {
    const std::string text = Text(number);
    const size_t before = bare_.find_last_not_of(" \n\t", number.begin - 1);
    const size_t after = bare_.find_first_not_of(" \n\t", number.end);
    if (number.begin == 0 || before == std::string::npos || after == std::string::npos) return;
    // The size of an array, or one of its elements.
    if (bare_[before] == '[' && bare_[after] == ']') return;
    const bool hex = absl::StartsWith(text, "0x") || absl::StartsWith(text, "0X");
    const bool fraction = !hex && text.find_first_of(".eE") != std::string::npos;
    const bool zero = text.find_first_of("123456789") == std::string::npos;
    const std::string by = fraction && !zero ? " * 1.01f" : " + 1";
    Add(&wrong, Mutant::Kind::kWrong, number, absl::StrCat("'", text, "' is '", text, by, "'"),
        absl::StrCat("(", text, by, ")"));
  }

  const absl::string_view code_;
  const std::string bare_;
};

// Keeps at most `most`, evenly.
void Thin(size_t most, std::vector<Mutant>* mutants) {
  if (mutants->size() <= most) return;
  std::vector<Mutant> kept;
  for (size_t i = 0; i < most; ++i)
    kept.push_back(std::move((*mutants)[i * mutants->size() / most]));
  *mutants = std::move(kept);
}

}  // namespace

std::vector<Mutant> MakeMutants(absl::string_view reference, size_t reach_max, size_t wrong_max) {
  MutantMaker maker(reference);
  maker.Make();
  Thin(reach_max, &maker.reach);
  Thin(wrong_max, &maker.wrong);
  std::vector<Mutant> mutants = std::move(maker.reach);
  for (Mutant& mutant : maker.wrong) mutants.push_back(std::move(mutant));
  return mutants;
}

}  // namespace whetstone
