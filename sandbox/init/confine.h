// Takes rights away: first from the init program, then, step by step, from the process that becomes
// the program.
#ifndef WHETSTONE_SANDBOX_INIT_CONFINE_H_
#define WHETSTONE_SANDBOX_INIT_CONFINE_H_

#include <sys/types.h>

#include "sandbox/plan/plan.h"

namespace whetstone {

// Drops for good every capability, those that exec would regain, new privileges and being dumpable,
// and takes the program's own user id.
void DropPrivileges(const Plan& plan);

struct ProgramPipes {
  int stdin_read = -1;
  int stdout_write = -1;
  int stderr_write = -1;
};

// Starts the program; returns its pid in this namespace once it has executed. Any failure ends the
// process with a report.
pid_t StartProgram(const Plan& plan, const ProgramPipes& pipes);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_INIT_CONFINE_H_
