#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/discover/import_answers.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct ProblemImportOptions {
  std::string file;
  std::string function;
  std::string expert;
  std::string generator;
  std::string out;
  std::vector<std::string> set;  // KEY=VALUE
  bool json = false;
};

struct Imported {
  std::string path;
  std::vector<std::string> chosen;  // "KEY=VALUE"
};

absl::StatusOr<Imported> Import(const ProblemImportOptions& options, Console* console) {
  ImportAnswers answers("--set", console, console->CanAsk());
  for (const std::string& option : options.set) RETURN_IF_ERROR(answers.Add(option));
  WorkerOnDemand worker(console);
  ASSIGN_OR_RETURN(auto generator, ReadGeneratorFile(options.generator));
  ASSIGN_OR_RETURN(const ImportedProblem made, ImportFile({.file = options.file,
                                                           .function = options.function,
                                                           .expert = options.expert,
                                                           .generator = std::move(generator),
                                                           .worker = &worker,
                                                           .console = console},
                                                          &answers));
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
      "How long arrays are, and which numbers are sizes, its loops suggest. Elsewhere than on a\n"
      "terminal, questions with a usual answer get that, which is printed.");
  command->add_option("FILE", options->file, "C++ source with the function and what it needs")
      ->required();
  command->add_option("--function", options->function, "Which one, if the file has several");
  command
      ->add_option("--expert", options->expert,
                   "C++ source that defines the same function, at least 1.2 times as fast")
      ->type_name("FILE");
  command
      ->add_option("--generator", options->generator,
                   "C++ source with a function that makes inputs which must fit together "
                   "(docs/discovery.md)")
      ->type_name("FILE");
  command->add_option("--out", options->out, "File to write (default: ID.md)")->type_name("FILE");
  command->add_option("--set", options->set, "The answer to one question")
      ->type_name("QUESTION=ANSWER")
      ->expected(1)
      ->take_all();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return RunProblemImport(*options); }; });
}

}  // namespace whetstone
