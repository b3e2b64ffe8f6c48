// Launches the ranks of one host: runs this program several times, as torchrun would.
#ifndef WHETSTONE_GPU_TRAINER_PROCESS_LAUNCHER_H_
#define WHETSTONE_GPU_TRAINER_PROCESS_LAUNCHER_H_

#include <string>
#include <vector>

namespace whetstone {

// Starts `command`, arguments of this program, `ranks` times, with RANK, WORLD_SIZE, LOCAL_RANK,
// LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT set as torchrun does, on a free port of 127.0.0.1,
// and waits for the end. SIGINT and SIGTERM are handed on. When one rank ends, the others have 30 s
// to notice and to say so to their callers, then they are killed. All of them are then started
// anew, `restarts_max` times in a row at most; not after a stop signal, nor when a rank says that
// it was used wrongly (exit code 2). The ranks die with this process, however it dies.
//
// Returns the exit code of the first rank that failed at last (128 + signal, if one killed it); 0
// if none did; 2 if it was used wrongly; or 3 if a rank could not be started. Says on stderr what
// happens.
int Launch(int ranks, int restarts_max, const std::vector<std::string>& command);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROCESS_LAUNCHER_H_
