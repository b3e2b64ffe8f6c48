// The commands are whet problem check and whet problem new; cmd_problem_import.cc has the third.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/source_place.h"
#include "common/status_macros.h"
#include "coordinator/authoring/difficulty.h"
#include "coordinator/authoring/problem_new.h"
#include "coordinator/cli/commands.h"
#include "coordinator/config/prompt_files.h"
#include "coordinator/discover/local_check.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct ProblemOptions {
  // The words are files or folders, or one NAME.
  std::vector<std::string> words;
  bool quick = false;
  bool json = false;
};

// Checks file after file on one worker, which starts with the first that parses.
class FileChecker {
 public:
  FileChecker(Console* console, bool quick) : console_(console), quick_(quick), worker_(console) {}

  // Fails where the file is not a problem at all, or the worker cannot measure.
  absl::StatusOr<ProblemReport> Check(const std::string& file, nlohmann::ordered_json* json) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    ASSIGN_OR_RETURN(const v1::Problem problem, ParsePrompt(text, file));
    ASSIGN_OR_RETURN(LocalWorker* const worker, worker_.Get());
    ASSIGN_OR_RETURN(ProblemReport report,
                     CheckOnWorker(problem, text, file, quick_, worker, console_));
    *json = report.ToJson();
    (*json)["file"] = file;
    (*json)["split"] = SplitName(problem);
    (*json)["difficulty"] = Difficulty(problem);
    return report;
  }

 private:
  Console* const console_;
  const bool quick_;
  WorkerOnDemand worker_;
};

int CheckOne(const std::string& file, bool quick, Console* console) {
  nlohmann::ordered_json json;
  const absl::StatusOr<ProblemReport> report = FileChecker(console, quick).Check(file, &json);
  if (!report.ok()) return console->Fail(report.status());
  console->Line(report->Table());
  console->Result(json);
  return report->sound() ? kExitOk : report->proven ? kExitWrongInput : kExitOurFailure;
}

// A file that is wrong does not keep the others from being checked.
int CheckAll(const std::vector<std::string>& files, bool quick, Console* console) {
  FileChecker checker(console, quick);
  nlohmann::ordered_json problems = nlohmann::ordered_json::array();
  int sound = 0;
  int unproven = 0;
  for (const std::string& file : files) {
    nlohmann::ordered_json json;
    const absl::StatusOr<ProblemReport> report = checker.Check(file, &json);
    if (report.ok()) {
      console->Line(report->Summary());
      sound += report->sound();
      unproven += !report->proven;
    } else if (ExitCodeOf(report.status()) == kExitWrongInput) {
      console->Line(absl::StrCat("FAILED ", WithExcerpt(report.status())));
      json = {{"file", file}, {"sound", false}, {"error", report.status().message()}};
    } else {
      return console->Fail(report.status());
    }
    problems.push_back(std::move(json));
  }
  const int unsound = static_cast<int>(files.size()) - sound - unproven;
  console->Line(absl::StrCat(files.size(), " problems: ", sound, " sound, ", unsound,
                             " not sound, ", unproven, " that this machine cannot measure",
                             quick ? "; their speeds were not checked" : ""));
  console->Result({{"sound", sound},
                   {"unsound", unsound},
                   {"unproven", unproven},
                   {"problems", std::move(problems)}});
  return unsound > 0 ? kExitWrongInput : unproven > 0 ? kExitOurFailure : kExitOk;
}

int Check(const ProblemOptions& options) {
  Console console(options.json);
  const absl::StatusOr<std::vector<std::string>> files = PromptFiles(options.words);
  if (!files.ok()) return console.Fail(files.status());
  if (files->size() == 1) return CheckOne(files->front(), options.quick, &console);
  return CheckAll(*files, options.quick, &console);
}

int New(const ProblemOptions& options) {
  Console console(options.json);
  const absl::StatusOr<std::string> text = NewPromptFile(options.words.front());
  if (!text.ok()) return console.Fail(text.status());
  const std::string path = options.words.front() + ".md";
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return console.Fail(absl::AlreadyExistsError(
        absl::StrCat(path, " is already there; move it away or choose another name")));
  }
  const absl::Status written = WriteFileAtomically(path, *text);
  if (!written.ok()) return console.Fail(written);
  console.Line(absl::StrCat("wrote ", path, "; edit it, then: whet problem check ", path));
  console.Result({{"file", path}});
  return kExitOk;
}

// Adds one command that takes at most `words` words; `quick` says what --quick does, if it has it.
void AddCommand(CLI::App* app, SelectedCommand* selected, const char* name, const char* about,
                const char* word, const char* word_about, int words, const char* quick,
                int (*run)(const ProblemOptions&)) {
  const auto options = std::make_shared<ProblemOptions>();
  CLI::App* command = app->add_subcommand(name, about);
  command->add_option(word, options->words, word_about)->required()->expected(1, words);
  if (quick != nullptr) command->add_flag("--quick", options->quick, quick);
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return run(*options); }; });
}

}  // namespace

void AddProblem(CLI::App* app, SelectedCommand* selected) {
  CLI::App* problem = app->add_subcommand("problem", "Write and check prompt files");
  problem->require_subcommand(1);
  AddCommand(
      problem, selected, "check",
      "Prove problems sound\n\nReference deterministic, inputs matter, expert right and fast "
      "enough "
      "and paid for it, equal code\nequally fast, programs that do not do the work all fail. Exit "
      "code 2 if one is not, 3 if this\nmachine cannot measure one.",
      "PATH", "Prompt files, or folders of them", 100000,
      "Right and wrong only: all compiles, reference and expert are right, what does not do the "
      "work fails. Not checked: speeds, rewards, noise, durations",
      Check);
  AddCommand(problem, selected, "new", "Write NAME.md, a skeleton that works", "NAME",
             "Name of the problem: [a-z][a-z0-9_]*", 1, /*quick=*/nullptr, New);
  AddProblemImport(problem, selected);
}

}  // namespace whetstone
