// whet problem check, whet problem new
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/commands.h"
#include "coordinator/console.h"
#include "coordinator/local_worker.h"
#include "coordinator/prompt/problem_check.h"
#include "coordinator/prompt/problem_new.h"
#include "coordinator/prompt/prompt_file.h"

namespace whetstone {
namespace {

struct Options {
  std::string word;  // FILE or NAME
  bool json = false;
};

absl::StatusOr<ProblemReport> CheckFile(const std::string& file, Console* console) {
  ASSIGN_OR_RETURN(const v1::Problem problem, ParsePromptFile(file));
  console->Status("starting a worker");
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalWorker> worker, LocalWorker::Start());
  ProblemTools tools;
  tools.calibrate = [&] {
    console->Status("compiling the reference, measuring the expert");
    return worker->Put(problem);
  };
  int programs = 0;
  tools.measure = [&](const std::string& source, bool time) {
    console->Status(absl::StrCat("measuring program ", ++programs));
    return worker->Measure(problem, source, time, /*fresh=*/true);
  };
  return CheckProblem(problem, tools);
}

int Check(const Options& options) {
  Console console(options.json);
  const absl::StatusOr<ProblemReport> report = CheckFile(options.word, &console);
  if (!report.ok()) return console.Fail(report.status());
  console.Line(report->Table());
  console.Result(nlohmann::ordered_json(report->ToJson()));
  return report->sound() ? kExitOk : kExitWrongInput;
}

int New(const Options& options) {
  Console console(options.json);
  const absl::StatusOr<std::string> text = NewPromptFile(options.word);
  if (!text.ok()) return console.Fail(text.status());
  const std::string path = options.word + ".md";
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

void Add(CLI::App* app, Chosen* chosen, const char* name, const char* about, const char* word,
         const char* word_about, int (*run)(const Options&)) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app->add_subcommand(name, about);
  command->add_option(word, options->word, word_about)->required();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { chosen->run = [=] { return run(*options); }; });
}

}  // namespace

void AddProblem(CLI::App* app, Chosen* chosen) {
  CLI::App* problem = app->add_subcommand("problem", "Write and check prompt files");
  problem->require_subcommand(1);
  Add(problem, chosen, "check",
      "Prove a problem sound\n\nReference deterministic, inputs matter, expert right and fast "
      "enough, equal code equally fast,\nprograms that do not do the work all fail. Exit code 2 if "
      "it is not.",
      "FILE", "Prompt file", Check);
  Add(problem, chosen, "new", "Write NAME.md, a skeleton that works", "NAME",
      "Name of the problem: [a-z][a-z0-9_]*", New);
}

}  // namespace whetstone
