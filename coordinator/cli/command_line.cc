#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/nearest.h"
#include "common/version.h"
#include "coordinator/cli/commands.h"
#include "coordinator/terminal/console.h"
#include "coordinator/usage/command_table.h"

namespace whetstone {
namespace {

constexpr char kAbout[] =
    "Whetstone trains a language model to write faster C++ (online GRPO on measured speed).\n\n"
    "  whet discover FUNCTION.cc     a faster form of one function of yours, and its proof\n"
    "  whet doctor campaign.yaml     what is wrong, before an hour is lost\n"
    "  whet run campaign.yaml        one line per step; Ctrl-C stops cleanly\n"
    "  whet resume runs/NAME         goes on, also after kill -9\n"
    "  whet list                     the runs of a folder, and what they came to\n"
    "  whet report runs/NAME         one self-contained HTML page\n"
    "  whet eval MODEL… --problems F how good models are on what they never saw\n";
constexpr char kExitCodes[] =
    "Exit codes: 0 done, 2 wrong usage or input, 3 our own failure, 130 stopped by Ctrl-C.";

// Returns the deepest command that the words name, and sets *stray to the first word it did not
// understand.
const CLI::App* Deepest(const CLI::App* app, int argc, char** argv, std::string* stray) {
  size_t positionals = PositionalsOf(*app).size();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (absl::StartsWith(word, "-")) continue;
    const CLI::App* next = FindCommand(*app, word);
    if (next == nullptr && positionals > 0) {
      --positionals;
      continue;
    }
    if (next == nullptr) {
      *stray = word;
      return app;
    }
    app = next;
    positionals = PositionalsOf(*app).size();
  }
  return app;
}

std::string Suggestion(const CLI::App* app, const std::string& stray, int argc, char** argv) {
  std::vector<std::string> commands;
  for (const CLI::App* sub : CommandsOf(*app)) commands.push_back(sub->get_name());
  if (!commands.empty() && !stray.empty()) {
    return absl::StrCat("did you mean '", CommandName(*app), " ", Nearest(stray, commands), "'?");
  }
  std::vector<std::string> options;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  // The first of equals is suggested: the command's own options before --help.
  std::reverse(options.begin(), options.end());
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string name = word.substr(0, word.find('='));
    if (!absl::StartsWith(word, "--") ||
        std::find(options.begin(), options.end(), name) != options.end()) {
      continue;
    }
    return absl::StrCat("did you mean '", Nearest(name, options), "' in place of '", name, "'?");
  }
  return "";
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  CLI::App app(kAbout, "whet");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of all commands");
  app.set_version_flag("--version", kVersionText);
  app.failure_message(CLI::FailureMessage::simple);
  app.footer(kExitCodes);
  SelectedCommand selected;
  AddRun(&app, &selected);
  AddResume(&app, &selected);
  AddStop(&app, &selected);
  AddPause(&app, &selected);
  AddUnpause(&app, &selected);
  AddFork(&app, &selected);
  AddList(&app, &selected);
  AddGc(&app, &selected);
  AddStatus(&app, &selected);
  AddWatch(&app, &selected);
  AddShow(&app, &selected);
  AddLogs(&app, &selected);
  AddExport(&app, &selected);
  AddTrace(&app, &selected);
  AddWorkers(&app, &selected);
  AddReplay(&app, &selected);
  AddFetch(&app, &selected);
  AddReport(&app, &selected);
  AddRescore(&app, &selected);
  AddEval(&app, &selected);
  AddBest(&app, &selected);
  AddPortable(&app, &selected);
  AddMeasure(&app, &selected);
  AddDiscover(&app, &selected);
  AddRewrite(&app, &selected);
  AddProblem(&app, &selected);
  AddDoctor(&app, &selected);
  AddCompletion(&app, &selected);
  AddMan(&app, &selected);
  AddSchema(&app, &selected);
  if (AnswerCompletion(app, argc, argv)) return kExitOk;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    std::string stray;
    const CLI::App* deepest = Deepest(&app, argc, argv, &stray);
    const std::string suggestion = Suggestion(deepest, stray, argc, argv);
    const bool unknown = !stray.empty() && deepest->get_require_subcommand_min() > 0;
    return Console(/*json=*/false)
        .Fail(absl::InvalidArgumentError(
            absl::StrCat(unknown ? absl::StrCat("unknown command '", stray, "'") : error.what(),
                         "\n", suggestion, suggestion.empty() ? "" : "\n", CommandName(*deepest),
                         " --help says more.")));
  }
  try {
    return selected.run();
  } catch (const std::exception& error) {
    // No code of ours throws; a library's surprise must still end as a message.
    return Console(/*json=*/false)
        .Fail(absl::InternalError(absl::StrCat("unexpected: ", error.what())));
  }
}

}  // namespace whetstone
