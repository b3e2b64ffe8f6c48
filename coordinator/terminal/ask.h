// AskYes asks the person at the terminal, who can end the program by Ctrl-C meanwhile: nothing may
// be under way that this could break. Only "y" is a yes.
//
//   if (console->CanAsk() && AskYes("It costs money.\nGo on? [y/N]", signals, console)) …
#ifndef WHETSTONE_COORDINATOR_TERMINAL_ASK_H_
#define WHETSTONE_COORDINATOR_TERMINAL_ASK_H_

#include <string>

#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {

bool AskYes(const std::string& question, StopSignals* signals, Console* console);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TERMINAL_ASK_H_
