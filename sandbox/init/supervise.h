// Watches the program until it ends or a limit ends it, with the whole tree dead afterwards.
#ifndef WHETSTONE_SANDBOX_INIT_SUPERVISE_H_
#define WHETSTONE_SANDBOX_INIT_SUPERVISE_H_

#include <sys/types.h>

#include <string>

#include "sandbox/plan/plan.h"

namespace whetstone {

struct InitPipes {
  int stdin_write = -1;
  int stdout_read = -1;
  int stderr_read = -1;
};

struct Supervised {
  ResultHeader header;  // sizes of files not yet set
  std::string stdout_text;
  std::string stderr_text;
};

// `child_signals`: a signalfd for SIGCHLD. `proc_fd`: private /proc, or -1. Returns when no process
// but this one is left. Ends the process when the parent is gone.
Supervised Supervise(const Plan& plan, pid_t program, const InitPipes& pipes, int child_signals,
                     int proc_fd);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_INIT_SUPERVISE_H_
