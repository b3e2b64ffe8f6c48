// These are the sub-commands of whet-trainer: serve, launch, and those that need no server.
#ifndef WHETSTONE_GPU_TRAINER_CLI_CLI_H_
#define WHETSTONE_GPU_TRAINER_CLI_CLI_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace whetstone {

// Cuts off from the arguments of a launch what follows the first --, which is another command line:
//
//   whet-trainer launch --nproc 2 -- serve --socket /run/whetstone/trainer.sock
std::vector<std::string> TakeLaunchedCommand(int* argc, char** argv);

// Adds all sub-commands to `app`; `launched` is the one that a launch starts. A command that runs
// during app.parse() sets *exit_code: 0, 2 for wrong usage or input (the message is on stderr), 3
// for our own failure; launch: see launcher.h. All must outlive the parse.
void AddCommands(CLI::App& app, const std::vector<std::string>& launched, int* exit_code);

// Each adds one of them.
void AddServeCommand(CLI::App& app, int* exit_code);
void AddLaunchCommand(CLI::App& app, const std::vector<std::string>& launched, int* exit_code);
void AddInspectCommand(CLI::App& app, int* exit_code);
void AddTokenizeCommand(CLI::App& app, int* exit_code);
void AddScoreCommand(CLI::App& app, int* exit_code);
void AddGenerateCommand(CLI::App& app, int* exit_code);
void AddBenchmarkCommand(CLI::App& app, int* exit_code);
void AddProfileCommand(CLI::App& app, int* exit_code);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CLI_CLI_H_
