// The commands of `whet`. Each cmd_x.cc adds its options and help to the parser and says what to
// run when it is chosen.
#ifndef WHETSTONE_COORDINATOR_CLI_COMMANDS_H_
#define WHETSTONE_COORDINATOR_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace whetstone {

// What the command line asked for.
struct Chosen {
  std::function<int()> run;  // the exit code
};

void AddRun(CLI::App* app, Chosen* chosen);
void AddResume(CLI::App* app, Chosen* chosen);
void AddStatus(CLI::App* app, Chosen* chosen);
void AddWatch(CLI::App* app, Chosen* chosen);
void AddWorkers(CLI::App* app, Chosen* chosen);
void AddReplay(CLI::App* app, Chosen* chosen);
void AddFetch(CLI::App* app, Chosen* chosen);
void AddReport(CLI::App* app, Chosen* chosen);
void AddBest(CLI::App* app, Chosen* chosen);
void AddMeasure(CLI::App* app, Chosen* chosen);
void AddProblem(CLI::App* app, Chosen* chosen);
// `problem` is the command that AddProblem made.
void AddProblemImport(CLI::App* problem, Chosen* chosen);
void AddDoctor(CLI::App* app, Chosen* chosen);

// Parses and runs; prints help, or what is wrong with the nearest word that would be right.
int RunCommandLine(int argc, char** argv);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CLI_COMMANDS_H_
