#include "coordinator/discover/import_answers.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/nearest.h"
#include "common/problem/expression.h"
#include "common/status_macros.h"
#include "coordinator/authoring/plain_source.h"
#include "coordinator/discover/answer_keys.h"
#include "coordinator/discover/code_clues.h"
#include "coordinator/discover/length_probe.h"
#include "coordinator/prompt/prompt_sections.h"
#include "coordinator/rewrites/array_extents.h"

namespace whetstone {

absl::Status ImportAnswers::Add(const std::string& answer) {
  const size_t equals = answer.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(option_, " ", answer, ": write KEY=VALUE, as in ", option_, " a.shape=n,n"));
  }
  given_[answer.substr(0, equals)] = answer.substr(equals + 1);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ImportAnswers::Answer(const ImportQuestion& question) {
  ASSIGN_OR_RETURN(std::string answer, Find(question));
  answered_[question.key] = answer;
  return answer;
}

absl::StatusOr<std::string> ImportAnswers::Find(const ImportQuestion& question) {
  asked_.push_back(question.key);
  if (const auto it = given_.find(question.key); it != given_.end()) {
    said_.insert(question.key);
    return Checked(question, it->second);
  }
  const auto own = suggested_.find(question.key);
  const std::string suggestion = question.suggestion.empty() && own != suggested_.end()
                                     ? own->second(question)
                                     : question.suggestion;
  if (ask_) return Ask(question, suggestion);
  if (!suggestion.empty()) {
    chosen_.push_back(absl::StrCat(question.key, "=", suggestion));
    return suggestion;
  }
  return absl::InvalidArgumentError(absl::StrCat(question.text, "\nAnswer with ", option_, " ",
                                                 question.key, "=…, or run this on a terminal"));
}

absl::Status ImportAnswers::CheckAllUsed() const {
  for (const auto& [key, value] : given_) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(option_, " ", key, ": there is no such question; did you mean '",
                     Nearest(key, asked_), "'? Questions are ", absl::StrJoin(asked_, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ImportAnswers::Checked(const ImportQuestion& question,
                                                   const std::string& answer) const {
  const absl::Status status = question.check(answer);
  if (status.ok()) return answer;
  return absl::InvalidArgumentError(
      absl::StrCat(option_, " ", question.key, "=", answer, ": ", status.message()));
}

absl::StatusOr<std::string> ImportAnswers::Ask(const ImportQuestion& question,
                                               const std::string& suggestion) {
  for (;;) {
    console_->Line(
        absl::StrCat(question.text, suggestion.empty() ? "" : absl::StrCat(" [", suggestion, "]")));
    std::string answer;
    if (!std::getline(std::cin, answer)) {
      return absl::CancelledError(absl::StrCat("no answer to: ", question.text));
    }
    answer = std::string(absl::StripAsciiWhitespace(answer));
    const bool said = !answer.empty();
    if (!said) answer = suggestion;
    const absl::Status status = question.check(answer);
    if (status.ok() && said) said_.insert(question.key);
    if (status.ok()) return answer;
    console_->Line(absl::StrCat(status.message(), ": once more"));
  }
}

namespace {

// INVALID_ARGUMENT: the file is no UTF-8; the rest are errors of ReadFile.
absl::StatusOr<std::string> ReadText(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  RETURN_IF_ERROR(CheckUtf8(text, path));
  return text;
}

// Adds the lengths that are found by running the function to those that its loops say.
absl::Status AddProbedLengths(const ImportFiles& files, const ImportAnswers& answers,
                              const std::string& code, const std::vector<std::string>& headers,
                              const ImportedFunction& function, const CodeClues& clues,
                              ImportHints* hints) {
  std::set<std::string> unknown;
  for (const Parameter& parameter : function.signature.parameters) {
    const std::string& name = parameter.name;
    const bool known =
        hints->extents.count(name) > 0 || answers.Given(absl::StrCat(name, ".shape"));
    if (parameter.pointer && !known) unknown.insert(name);
  }
  if (unknown.empty() || files.worker == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(LocalWorker* const worker, files.worker->Get());
  files.console->Status(absl::StrCat("running the function, to see how long arrays are: ",
                                     absl::StrJoin(unknown, ", ")));
  ASSIGN_OR_RETURN(ProbedLengths probed, ProbeLengths(code, headers, function, unknown,
                                                      hints->extents, hints->sizes, clues, worker));
  hints->why_no_extents = std::move(probed.why);
  const bool inputs_matter = absl::StrContains(hints->why_no_extents, "crashed") ||
                             absl::StrContains(hints->why_no_extents, "TIMEOUT");
  if (inputs_matter && !files.generator) {
    absl::StrAppend(&hints->why_no_extents, GeneratorAdvice(function.signature));
  }
  hints->fills.merge(probed.fills);
  for (auto& [array, length] : probed.lengths) {
    ASSIGN_OR_RETURN(const Expression formula, Expression::Parse(length));
    if (hints->sizes) hints->sizes->insert(formula.names().begin(), formula.names().end());
    hints->extents[array] = std::move(length);
  }
  return absl::OkStatus();
}

ImportHints Look(const ImportFiles& files, const ImportAnswers& answers, const PlainSource& plain,
                 const std::vector<std::string>& headers, const ImportedFunction& function,
                 const InputGenerator* generator) {
  const std::string& code = plain.code;
  ImportHints hints;
  absl::StatusOr<ArrayExtents> found = ArrayExtentsOf(code, headers, function.signature.name);
  if (found.ok()) {
    hints.extents = std::move(found->arrays);
    if (!found->sizes.empty()) hints.sizes = std::move(found->sizes);
  }
  for (const auto& [array, extent] : plain.extents) {
    hints.extents[array] = extent;
    const absl::StatusOr<Expression> sizes = Expression::Parse(extent);
    if (hints.sizes && sizes.ok())
      hints.sizes->insert(sizes->names().begin(), sizes->names().end());
  }
  const CodeClues clues = CluesIn(code);
  for (const Parameter& parameter : function.signature.parameters) {
    const bool whole = parameter.pointer || CppIntegerMax(parameter.type) != 0;
    if (!whole && clues.divisors.count(parameter.name))
      hints.fills[parameter.name] = kPositiveFloat;
    else if (!whole && clues.counts.count(parameter.name))
      hints.fills[parameter.name] = kManyTimes;
  }
  const SelfSufficient runs = generator != nullptr ? WithItsInputs(code, function, *generator)
                                                   : SelfSufficient{code, function};
  // What is not found is asked, and whoever needs the worker next has its errors.
  if (const absl::Status probed =
          AddProbedLengths(files, answers, runs.code, headers, runs.function,
                           generator != nullptr ? CodeClues() : clues, &hints);
      !probed.ok()) {
    hints.why_no_extents = std::string(probed.message());
  }
  return hints;
}

}  // namespace

absl::StatusOr<std::optional<GivenGenerator>> ReadGeneratorFile(const std::string& path) {
  if (path.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(std::string code, ReadText(path));
  return GivenGenerator{path, std::move(code)};
}

absl::StatusOr<ImportedProblem> ImportFile(const ImportFiles& files, ImportAnswers* answers) {
  ImportRequest request;
  request.name = files.file;
  request.function = files.function;
  ASSIGN_OR_RETURN(request.code, ReadText(files.file));
  ASSIGN_OR_RETURN(const PlainSource plain, MakePlain(request.code, files.file, files.function));
  request.code = plain.code;
  if (files.look && files.console != nullptr && !plain.changes.empty()) {
    files.console->Line(absl::StrCat("parameters in a form that a problem has:\n  ",
                                     absl::StrJoin(plain.changes, "\n  ")));
  }
  if (!files.expert.empty()) {
    ASSIGN_OR_RETURN(request.expert, ReadText(files.expert));
    ASSIGN_OR_RETURN(PlainSource expert, MakePlain(request.expert, files.expert, files.function));
    if (expert.changes != plain.changes) {
      return absl::InvalidArgumentError(absl::StrCat(
          files.expert, ": its parameters would not become those of ", files.file, " (",
          absl::StrJoin(expert.changes, "; "), ", not ", absl::StrJoin(plain.changes, "; "),
          "): give both functions numbers, structs of numbers and pointers"));
    }
    request.expert = std::move(expert.code);
  }
  request.generator = files.generator;
  if (files.look) {
    request.look = [&](const std::vector<std::string>& headers, const ImportedFunction& function,
                       const InputGenerator* generator) {
      return Look(files, *answers, plain, headers, function, generator);
    };
  }
  request.answer = [answers](const ImportQuestion& question) { return answers->Answer(question); };
  ASSIGN_OR_RETURN(ImportedProblem made, ImportProblem(request));
  RETURN_IF_ERROR(answers->CheckAllUsed());
  return made;
}

absl::StatusOr<ImportedProblem> ImportAnswered(ImportFiles files,
                                               const std::map<std::string, std::string>& answered,
                                               Console* console,
                                               std::map<std::string, std::string>* all) {
  ImportAnswers answers(kAnswerOption, console, /*ask=*/false);
  for (const auto& [key, value] : answered) {
    RETURN_IF_ERROR(answers.Add(absl::StrCat(key, "=", value)));
  }
  files.look = false;
  ASSIGN_OR_RETURN(ImportedProblem made, ImportFile(files, &answers));
  if (all != nullptr) *all = answers.answered();
  return made;
}

}  // namespace whetstone
