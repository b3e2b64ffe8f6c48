#include "coordinator/discover/telling_answers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/problem/expression.h"
#include "common/status_macros.h"
#include "coordinator/authoring/problem_import.h"
#include "coordinator/discover/answer_trial.h"

namespace whetstone {
namespace {

constexpr char kFewLetters[] = "uniform(95, 98)";  // of which two belong to words
constexpr char kFewWholeNumbers[] = "uniform(0, 3)";
constexpr size_t kAlphabet = 4;  // letters that are one
constexpr int64_t kSmaller = 8;
constexpr size_t kControlsMax = 1000;
// Of a rate, a length in millimetres or a number of hertz one is next to nothing.
constexpr char kSomeNumbers[] = "uniform(1, 8)";
constexpr const char* kLargerNumbers[] = {"uniform(10, 100)", "uniform(1000, 10000)"};

// What is to be otherwise.
struct Choice {
  std::map<std::string, std::string> fills;  // by key
  std::set<std::string> values;              // these are no sizes
  std::set<std::string> small;               // these sizes stay small
};

using Fills = std::map<std::string, std::string>;  // by key

// Returns other fills for whole numbers of all values: in arrays of bytes `of_bytes`, elsewhere
// `of_others`; empty: none.
Fills FewValues(const Answers& answered, const std::set<std::string>& said,
                const std::string& of_bytes, const std::string& of_others) {
  Fills fills;
  for (const auto& [key, answer] : answered) {
    if (!absl::EndsWith(key, ".fill") || HighestOfType(answer) == 0 || said.count(key)) continue;
    const bool bytes = HighestOfType(answer) <= 255 && FillsAnArray(answered, key);
    const std::string& fill = bytes ? of_bytes : of_others;
    if (!fill.empty()) fills[key] = fill;
  }
  return fills;
}

// Returns `fill` for all floating-point arguments that are no arrays, or for all fields.
Fills FloatsFilled(const Answers& answered, const std::set<std::string>& said, bool fields,
                   const std::string& fill) {
  Fills fills;
  for (const auto& [key, answer] : answered) {
    const bool is_field = std::count(key.begin(), key.end(), '.') == 2;
    const bool is_one = !is_field && !FillsAnArray(answered, key);
    if (answer == kUsualFloats && !said.count(key) && (fields ? is_field : is_one)) {
      fills[key] = fill;
    }
  }
  return fills;
}

// Returns `fill` for the floating-point inputs that these programs ignore.
Fills LargerNumbers(const Answers& answered, const std::set<std::string>& said,
                    const std::vector<NegativeControl>& passing, const std::string& fill) {
  Fills fills;
  for (const NegativeControl& control : passing) {
    const std::string key = absl::StrCat(control.input, ".fill");
    const auto answer = answered.find(key);
    if (control.input.empty() || answer == answered.end() || said.count(key)) continue;
    if (answer->second == kUsualFloats || answer->second == kPositiveFloat) fills[key] = fill;
  }
  return fills;
}

// Places below a size become places below the least of all sizes.
Answers WithNearPlaces(Answers answers, const std::set<std::string>& said) {
  const std::string near = absl::StrCat("uniform(0, ", LeastSize(answers), "-1)");
  std::set<std::string> below_a_size;
  for (const std::string& size : SizesIn(answers)) {
    below_a_size.insert(absl::StrCat("uniform(0, ", size, "-1)"));
  }
  for (auto& [key, answer] : answers) {
    if (below_a_size.count(answer) && !said.count(key)) answer = near;
  }
  return answers;
}

void AddNames(absl::string_view expressions, std::set<std::string>* names) {
  for (const std::string& each : SplitExpressions(expressions)) {
    const absl::StatusOr<Expression> parsed = Expression::Parse(each);
    if (parsed.ok()) names->insert(parsed->names().begin(), parsed->names().end());
  }
}

// Returns the sizes that arrays' lengths, and the bounds of what is in them, are made of.
std::set<std::string> SizesNeeded(const Answers& answered) {
  std::set<std::string> names;
  for (const auto& [key, answer] : answered) {
    if (absl::EndsWith(key, ".shape")) AddNames(answer, &names);
    const size_t open = answer.find('(');
    if (absl::EndsWith(key, ".fill") && open != std::string::npos && absl::EndsWith(answer, ")")) {
      AddNames(absl::string_view(answer).substr(open + 1, answer.size() - open - 2), &names);
    }
  }
  return names;
}

// Returns what may help. Letters say more than other bytes do, other numbers of all values more
// than few.
std::vector<Choice> Choices(const Answers& answered, const std::set<std::string>& said,
                            const std::string& letters) {
  std::vector<Fills> fills;
  std::string of_bytes = kFewLetters;
  if (!letters.empty()) {
    // From the least to the greatest, as of digits; or these, as of bases, and one that is none.
    std::string named = "one_of(0";
    for (const char letter : letters) absl::StrAppend(&named, ", ", static_cast<int>(letter));
    of_bytes = absl::StrCat("uniform(", static_cast<int>(letters.front()), ", ",
                            static_cast<int>(letters.back()), ")");
    const std::string all = of_bytes;
    // Of an alphabet others are hardly ever named.
    if (letters.size() >= kAlphabet && !absl::StrContains(letters, "9")) of_bytes = named + ")";
    fills.push_back(FewValues(answered, said, of_bytes, ""));
    fills.push_back(FewValues(answered, said, of_bytes == all ? named + ")" : all, ""));
  }
  fills.push_back({});
  fills.push_back(FewValues(answered, said, of_bytes, kFewWholeNumbers));
  fills.push_back(FewValues(answered, said, kFewLetters, kFewWholeNumbers));
  const std::set<std::string> needed = SizesNeeded(answered);
  std::set<std::string> free;
  std::vector<std::string> sizes;
  for (const std::string& size : SizesIn(answered)) {
    if (needed.count(size) || said.count(absl::StrCat(size, ".kind"))) {
      sizes.push_back(size);
    } else {
      free.insert(size);
    }
  }
  std::vector<std::set<std::string>> values = {{}}, small = {{}};
  if (!said.count(kChecksKey) && !said.count(kTimedKey) && !said.count("hidden")) {
    if (!free.empty() && !sizes.empty()) values.push_back(free);
    for (auto size = sizes.rbegin(); sizes.size() > 1 && size != sizes.rend(); ++size) {
      small.emplace_back(sizes.begin(), sizes.end());
      small.back().erase(*size);
    }
  }
  std::vector<Choice> choices;
  for (const Fills& some_fills : fills) {
    for (const std::set<std::string>& some_values : values) {
      for (const std::set<std::string>& some_small : small) {
        choices.push_back({some_fills, some_values, some_small});
      }
    }
  }
  return choices;
}

// Returns "n=17 k=3, n=64 k=8" of "n=17 k=18 most=19, n=64 k=65 most=66".
std::string PointsBy(const Choice& choice, const std::string& points) {
  std::vector<std::string> changed;
  for (const absl::string_view point : absl::StrSplit(points, ',')) {
    PointSizes sizes = SizesOfPoint(point);
    std::erase_if(sizes, [&](const auto& each) { return choice.values.count(each.first) > 0; });
    for (auto& [name, size] : sizes) {
      if (choice.small.count(name)) size = (size + kSmaller - 1) / kSmaller;
    }
    changed.push_back(PointOf(sizes));
  }
  return absl::StrJoin(changed, ", ");
}

Answers ChangedBy(const Choice& choice, Answers answered) {
  for (const auto& [key, fill] : choice.fills) answered[key] = fill;
  for (const std::string& name : choice.values) {
    answered[absl::StrCat(name, ".kind")] = "value";
    answered[absl::StrCat(name, ".fill")] = kFewTimes;
  }
  if (!choice.values.empty() || !choice.small.empty()) {
    for (const char* key : {kChecksKey, kTimedKey}) answered[key] = PointsBy(choice, answered[key]);
  }
  return answered;
}

}  // namespace

absl::StatusOr<Answers> TellingAnswers(const ImportFiles& files, const Answers& answered,
                                       const std::set<std::string>& said, LocalWorker* worker,
                                       Console* console) {
  AnswerTrial trial(files, said, worker, console);
  const absl::StatusOr<std::vector<NegativeControl>> usual =
      trial.PassingControls(answered, kControlsMax);
  if (absl::IsInvalidArgument(usual.status())) return answered;
  RETURN_IF_ERROR(usual.status());
  size_t passing = usual->size();
  if (passing == 0) return answered;
  ASSIGN_OR_RETURN(const std::string code, ReadFile(files.file));
  Answers best = answered;
  std::set<Answers> seen = {answered};
  std::vector<Choice> choices;
  choices.push_back({FloatsFilled(answered, said, /*fields=*/false, kPositiveFloat), {}, {}});
  for (const char* fill : kLargerNumbers) {
    choices.push_back({LargerNumbers(answered, said, *usual, fill), {}, {}});
  }
  Fills of_fields = FloatsFilled(answered, said, /*fields=*/true, kSomeNumbers);
  choices.push_back({of_fields, {}, {}});
  of_fields.merge(FloatsFilled(answered, said, /*fields=*/false, kPositiveFloat));
  choices.push_back({std::move(of_fields), {}, {}});
  for (Choice& choice : Choices(answered, said, QuotedLetters(code))) {
    choices.push_back(std::move(choice));
  }
  for (const Choice& choice : choices) {
    const Answers wide = ChangedBy(choice, answered);
    // Other numbers may lead to places that no program came to before.
    for (const Answers& tried : {wide, WithNearPlaces(wide, said)}) {
      if (!seen.insert(tried).second) continue;
      const auto still = trial.PassingControls(tried, passing);
      if (!still.ok() && !absl::IsInvalidArgument(still.status())) return still.status();
      if (!still.ok() || still->size() >= passing) continue;
      ASSIGN_OR_RETURN(const bool holds, trial.Holds(tried));
      if (!holds) continue;
      best = tried;
      passing = still->size();
      break;
    }
    if (passing == 0) break;
  }
  if (best != answered) {
    trial.TellChanges("so that programs that do not do the work are wrong", answered, best, "");
  }
  return best;
}

std::string QuotedLetters(absl::string_view code) {
  std::set<char> letters;
  for (size_t i = 0; i < code.size(); ++i) {
    const char quote = code[i];
    const size_t line = std::min(code.find('\n', i), code.size());
    if (quote == '#' &&
        absl::StartsWith(absl::StripLeadingAsciiWhitespace(code.substr(i + 1)), "include")) {
      i = line;
    }
    if (quote != '\'' && quote != '"') continue;
    size_t end = i + 1;
    std::string quoted;
    for (; end < line && code[end] != quote; ++end) {
      if (code[end] == '\\') {
        ++end;
      } else {
        quoted += code[end];
      }
    }
    // An apostrophe in a comment is no quote, nor what separates digits.
    if (end >= line || (quote == '\'' && quoted.size() > 1)) continue;
    for (const char letter : quoted) {
      if (letter >= ' ' && letter <= '~') letters.insert(letter);
    }
    i = end;
  }
  return std::string(letters.begin(), letters.end());
}

}  // namespace whetstone
