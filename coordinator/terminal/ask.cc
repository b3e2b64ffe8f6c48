#include "coordinator/terminal/ask.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace whetstone {

bool AskYes(const std::string& question, StopSignals* signals, Console* console) {
  console->Line(question);
  signals->OnStop([] { _exit(kExitStopped); });
  std::string answer;
  std::getline(std::cin, answer);
  signals->OnStop(nullptr);
  return absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(answer), "y");
}

}  // namespace whetstone
