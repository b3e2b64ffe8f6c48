#include "tests/abuse/hostile_program.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

absl::StatusOr<std::set<v1::Outcome>> ParseOutcomes(absl::string_view text) {
  std::set<v1::Outcome> outcomes;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    v1::Outcome outcome;
    if (!v1::Outcome_Parse(std::string(word), &outcome)) {
      return absl::InvalidArgumentError(absl::StrCat("no outcome is called '", word, "'"));
    }
    outcomes.insert(outcome);
  }
  return outcomes;
}

absl::StatusOr<std::set<int>> ParseChecklist(absl::string_view text) {
  std::set<int> numbers;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(", "), absl::SkipEmpty())) {
    int number = 0;
    if (!absl::SimpleAtoi(word, &number)) {
      return absl::InvalidArgumentError(absl::StrCat("'", word, "' is not a number"));
    }
    numbers.insert(number);
  }
  return numbers;
}

}  // namespace

absl::StatusOr<std::vector<HostileProgram>> ParseHostileProgram(const std::string& name,
                                                                const std::string& source,
                                                                const std::string& helpers) {
  HostileProgram program;
  program.name = name;
  std::string before, twin;
  std::vector<std::pair<std::string, std::string>> variants;  // name, text
  for (absl::string_view line : absl::StrSplit(source, '\n')) {
    if (!absl::ConsumePrefix(&line, "// ")) break;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (parts.first == "what") {
      program.what = std::string(parts.second);
    } else if (parts.first == "checklist") {
      ASSIGN_OR_RETURN(program.checklist, ParseChecklist(parts.second));
    } else if (parts.first == "with") {
      for (absl::string_view helper : absl::StrSplit(parts.second, ' ')) {
        ASSIGN_OR_RETURN(const std::string text,
                         ReadFile(absl::StrCat(helpers, "/", helper, ".inc")));
        before += text;
      }
    } else if (parts.first == "expect") {
      ASSIGN_OR_RETURN(program.expect, ParseOutcomes(parts.second));
    } else if (parts.first == "screened") {
      ASSIGN_OR_RETURN(program.screened, ParseOutcomes(parts.second));
    } else if (parts.first == "variant") {
      variants.push_back(absl::StrSplit(parts.second, absl::MaxSplits(": ", 1)));
    } else if (parts.first == "problem") {
      program.problem = std::string(parts.second);
    } else if (parts.first == "twin") {
      twin = std::string(parts.second);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(name, ": unknown line '", line, "'"));
    }
  }
  if (program.what.empty() || program.expect.empty() || program.checklist.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": needs '// what:', '// checklist:' and '// expect:'"));
  }
  if (!twin.empty() && variants.empty())
    return absl::InvalidArgumentError(absl::StrCat(name, ": a twin is a variant; there is none"));
  if (program.screened.empty()) {
    program.screened = program.expect;
    program.screened.insert({v1::FORBIDDEN, v1::COMPILE_ERROR});
  }
  std::vector<HostileProgram> programs;
  if (variants.empty()) {
    program.source = before + source;
    programs.push_back(program);
  }
  for (const auto& [variant, text] : variants) {
    programs.push_back(program);
    programs.back().first_variant = programs.size() == 1;
    programs.back().name = absl::StrCat(name, "_", variant);
    const auto with = [&](absl::string_view value) {
      return absl::StrCat("#define VARIANT ", value, "\n", before, source);
    };
    programs.back().source = with(text);
    if (!twin.empty()) programs.back().twin = with(twin);
  }
  return programs;
}

absl::StatusOr<std::vector<HostileProgram>> LoadHostilePrograms(const std::string& folder) {
  std::vector<HostileProgram> programs;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/programs")) {
    if (entry.path().extension() != ".cc") continue;
    ASSIGN_OR_RETURN(const std::string source, ReadFile(entry.path()));
    ASSIGN_OR_RETURN(const std::vector<HostileProgram> variants,
                     ParseHostileProgram(entry.path().stem(), source, folder + "/helpers"));
    programs.insert(programs.end(), variants.begin(), variants.end());
  }
  std::sort(programs.begin(), programs.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return programs;
}

}  // namespace whetstone
