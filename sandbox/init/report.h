// How the init program speaks to its parent: only over the control socket, never on stderr.
#ifndef WHETSTONE_SANDBOX_INIT_REPORT_H_
#define WHETSTONE_SANDBOX_INIT_REPORT_H_

#include <cstddef>
#include <string_view>

#include "sandbox/plan/plan.h"

namespace whetstone {

// Sends all bytes to the parent; ends the process (and so the whole tree) when the parent is gone.
void SendOrDie(const void* bytes, size_t size);

// Reports a failed step with the current errno (or `error`) and ends the process.
[[noreturn]] void FailSetup(SetupStep step, int error, std::string_view detail);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_INIT_REPORT_H_
