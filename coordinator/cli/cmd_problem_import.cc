#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "coordinator/authoring/problem_import.h"
#include "coordinator/cli/commands.h"
#include "coordinator/prompt/prompt_sections.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct ProblemImportOptions {
  std::string file;
  std::string function;
  std::string expert;
  std::string out;
  std::vector<std::string> set;  // KEY=VALUE
  bool json = false;
};

// Answers from --set, else asks the person at the terminal, else takes the suggestion.
class Answers {
 public:
  Answers(Console* console, bool ask) : console_(console), ask_(ask) {}

  absl::Status Add(const std::string& option) {
    const size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set ", option, ": write KEY=VALUE, as in --set a.shape=n,n"));
    }
    given_[option.substr(0, equals)] = option.substr(equals + 1);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Answer(const ImportQuestion& question) {
    asked_.push_back(question.key);
    if (const auto it = given_.find(question.key); it != given_.end()) {
      return Checked(question, it->second);
    }
    if (ask_) return Ask(question);
    if (!question.suggestion.empty()) {
      chosen_.push_back(absl::StrCat(question.key, "=", question.suggestion));
      return question.suggestion;
    }
    return absl::InvalidArgumentError(absl::StrCat(question.text, "\nAnswer with --set ",
                                                   question.key, "=…, or run this on a terminal"));
  }

  // Returns "KEY=VALUE" for each that nobody answered.
  const std::vector<std::string>& chosen() const { return chosen_; }

  // An answer to nothing is a slip.
  absl::Status CheckAllUsed() const {
    for (const auto& [key, value] : given_) {
      if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
      return absl::InvalidArgumentError(absl::StrCat("--set ", key,
                                                     ": there is no such question; "
                                                     "did you mean '",
                                                     Nearest(key, asked_), "'? Questions are ",
                                                     absl::StrJoin(asked_, ", ")));
    }
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<std::string> Checked(const ImportQuestion& question,
                                             const std::string& answer) {
    const absl::Status status = question.check(answer);
    if (status.ok()) return answer;
    return absl::InvalidArgumentError(
        absl::StrCat("--set ", question.key, "=", answer, ": ", status.message()));
  }

  absl::StatusOr<std::string> Ask(const ImportQuestion& question) {
    for (;;) {
      console_->Line(absl::StrCat(
          question.text,
          question.suggestion.empty() ? "" : absl::StrCat(" [", question.suggestion, "]")));
      std::string answer;
      if (!std::getline(std::cin, answer)) {
        return absl::CancelledError(absl::StrCat("no answer to: ", question.text));
      }
      answer = std::string(absl::StripAsciiWhitespace(answer));
      if (answer.empty()) answer = question.suggestion;
      const absl::Status status = question.check(answer);
      if (status.ok()) return answer;
      console_->Line(absl::StrCat(status.message(), ": once more"));
    }
  }

  Console* const console_;
  const bool ask_;
  std::map<std::string, std::string> given_;
  std::vector<std::string> asked_;
  std::vector<std::string> chosen_;
};

struct Imported {
  std::string path;
  std::vector<std::string> chosen;  // "KEY=VALUE"
};

absl::StatusOr<Imported> Import(const ProblemImportOptions& options, Console* console) {
  ImportRequest request;
  request.name = options.file;
  request.function = options.function;
  ASSIGN_OR_RETURN(request.code, ReadFile(options.file));
  RETURN_IF_ERROR(CheckUtf8(request.code, options.file));
  if (!options.expert.empty()) {
    ASSIGN_OR_RETURN(request.expert, ReadFile(options.expert));
    RETURN_IF_ERROR(CheckUtf8(request.expert, options.expert));
  }
  Answers answers(console, isatty(STDIN_FILENO) == 1 && !options.json);
  for (const std::string& option : options.set) RETURN_IF_ERROR(answers.Add(option));
  request.answer = [&](const ImportQuestion& question) { return answers.Answer(question); };
  ASSIGN_OR_RETURN(const ImportedProblem made, ImportProblem(request));
  RETURN_IF_ERROR(answers.CheckAllUsed());
  const std::string path = options.out.empty() ? made.id + ".md" : options.out;
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " is already there; move it away or name another file with --out"));
  }
  RETURN_IF_ERROR(WriteFileAtomically(path, made.text));
  return Imported{path, answers.chosen()};
}

int RunProblemImport(const ProblemImportOptions& options) {
  Console console(options.json);
  const absl::StatusOr<Imported> made = Import(options, &console);
  if (!made.ok()) return console.Fail(made.status());
  if (!made->chosen.empty()) {
    console.Line(absl::StrCat("chosen, as you did not say (--set KEY=VALUE says otherwise):\n  ",
                              absl::StrJoin(made->chosen, "\n  ")));
  }
  console.Line(absl::StrCat("wrote ", made->path));
  if (options.expert.empty()) {
    console.Line(
        "it has no expert: rules may find a faster form (whet rewrite), and you can write one "
        "below '## expert'");
  }
  console.Line(absl::StrCat("then: whet problem check ", made->path));
  console.Result(
      {{"file", made->path}, {"has_expert", !options.expert.empty()}, {"chosen", made->chosen}});
  return kExitOk;
}

}  // namespace

void AddProblemImport(CLI::App* problem, SelectedCommand* selected) {
  const auto options = std::make_shared<ProblemImportOptions>();
  CLI::App* command = problem->add_subcommand(
      "import",
      "Make a prompt file of a C++ function\n\nThe function becomes the reference. What its "
      "signature does not say is asked on the terminal, or\nanswered by --set: prose, sizes "
      "(check, timed, hidden), and for each parameter NAME.kind, NAME.shape\nand NAME.fill. "
      "Elsewhere than on a terminal, questions with a usual answer get that, which is "
      "printed.");
  command->add_option("FILE", options->file, "C++ source with the function and what it needs")
      ->required();
  command->add_option("--function", options->function, "Which one, if the file has several");
  command->add_option("--expert", options->expert,
                      "C++ source that defines the same function, at least 1.2 times as fast");
  command->add_option("--out", options->out, "File to write (default: ID.md)");
  command->add_option("--set", options->set, "KEY=VALUE: the answer to one question")
      ->expected(1)
      ->take_all();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return RunProblemImport(*options); }; });
}

}  // namespace whetstone
