// The `serve` sub-command of whet-trainer.
#ifndef WHETSTONE_GPU_TRAINER_CLI_SERVE_H_
#define WHETSTONE_GPU_TRAINER_CLI_SERVE_H_

#include <CLI/CLI.hpp>

namespace whetstone {

// Adds it to `app`. When it ran, *exit_code is 0, 2 for wrong usage or input (the message is on
// stderr), 3 for our own failure. Both must outlive the parse.
void AddServeCommand(CLI::App& app, int* exit_code);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CLI_SERVE_H_
