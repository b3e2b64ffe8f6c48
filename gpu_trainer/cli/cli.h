// The sub-commands of whet-trainer that need no server: tokenize, score, generate, benchmark,
// profile.
#ifndef WHETSTONE_GPU_TRAINER_CLI_CLI_H_
#define WHETSTONE_GPU_TRAINER_CLI_CLI_H_

#include <CLI/CLI.hpp>

namespace whetstone {

// Adds them to `app`. A command that runs during app.parse() sets *exit_code: 0, 2 for wrong usage
// or input (the message is on stderr), 3 for our own failure. Both must outlive the parse.
void AddModelCommands(CLI::App& app, int* exit_code);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CLI_CLI_H_
