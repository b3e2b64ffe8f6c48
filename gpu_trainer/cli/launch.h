// The `launch` sub-command of whet-trainer: the ranks of one host.
//
//   whet-trainer launch --nproc 2 -- serve --socket /run/whetstone/trainer.sock
//
// starts what follows -- N times, with RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
// MASTER_ADDR and MASTER_PORT set as torchrun does, on a free port of 127.0.0.1. SIGINT and SIGTERM
// are handed on. When one rank ends, the others have 30 s to notice and to say so to their callers,
// then they are killed. With --max-restarts N all of them are then started anew, N times in a row
// at most; not after a stop signal, nor when a rank says that it was used wrongly (exit code 2).
// The ranks die with this process, however it dies.
#ifndef WHETSTONE_GPU_TRAINER_CLI_LAUNCH_H_
#define WHETSTONE_GPU_TRAINER_CLI_LAUNCH_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace whetstone {

// Of a launch, what follows the first --, cut off from the arguments: another command line.
std::vector<std::string> TakeLaunchedCommand(int* argc, char** argv);

// Adds it to `app`, for that command. When it ran, *exit_code is that of the first rank that failed
// at last (128 + signal, if one killed it), 0, or 3: a rank could not be started. All must outlive
// the parse.
void AddLaunchCommand(CLI::App& app, const std::vector<std::string>& command, int* exit_code);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CLI_LAUNCH_H_
