// Each command of `whet` has a cmd_x.cc, which adds its options and help to the parser and says
// what to run when the command is selected.
#ifndef WHETSTONE_COORDINATOR_CLI_COMMANDS_H_
#define WHETSTONE_COORDINATOR_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace whetstone {

inline constexpr char kStealHelp[] =
    "Take the trainer from the campaign that it serves, which then ends and can be resumed";

// The command line names this command; the parser's callbacks fill it in.
struct SelectedCommand {
  std::function<int()> run;  // returns the exit code
};

void AddRun(CLI::App* app, SelectedCommand* selected);
void AddResume(CLI::App* app, SelectedCommand* selected);
void AddStop(CLI::App* app, SelectedCommand* selected);
void AddPause(CLI::App* app, SelectedCommand* selected);
void AddUnpause(CLI::App* app, SelectedCommand* selected);
void AddFork(CLI::App* app, SelectedCommand* selected);
void AddList(CLI::App* app, SelectedCommand* selected);
void AddGc(CLI::App* app, SelectedCommand* selected);
void AddStatus(CLI::App* app, SelectedCommand* selected);
void AddWatch(CLI::App* app, SelectedCommand* selected);
void AddShow(CLI::App* app, SelectedCommand* selected);
void AddLogs(CLI::App* app, SelectedCommand* selected);
void AddExport(CLI::App* app, SelectedCommand* selected);
void AddTrace(CLI::App* app, SelectedCommand* selected);
void AddWorkers(CLI::App* app, SelectedCommand* selected);
void AddReplay(CLI::App* app, SelectedCommand* selected);
void AddFetch(CLI::App* app, SelectedCommand* selected);
void AddReport(CLI::App* app, SelectedCommand* selected);
void AddRescore(CLI::App* app, SelectedCommand* selected);
void AddEval(CLI::App* app, SelectedCommand* selected);
void AddBest(CLI::App* app, SelectedCommand* selected);
void AddPortable(CLI::App* app, SelectedCommand* selected);
void AddMeasure(CLI::App* app, SelectedCommand* selected);
void AddDiscover(CLI::App* app, SelectedCommand* selected);
void AddRewrite(CLI::App* app, SelectedCommand* selected);
void AddProblem(CLI::App* app, SelectedCommand* selected);
// `problem` is the command that AddProblem made.
void AddProblemImport(CLI::App* problem, SelectedCommand* selected);
void AddDoctor(CLI::App* app, SelectedCommand* selected);
void AddCompletion(CLI::App* app, SelectedCommand* selected);
void AddMan(CLI::App* app, SelectedCommand* selected);
void AddSchema(CLI::App* app, SelectedCommand* selected);

// Answers what the scripts of `whet completion` ask with a command line that somebody is writing,
// which is for the parser once it is finished. False: it is another command.
bool AnswerCompletion(const CLI::App& app, int argc, char** argv);

// Parses and runs; prints help, or what is wrong with the nearest word that would be right.
int RunCommandLine(int argc, char** argv);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CLI_COMMANDS_H_
