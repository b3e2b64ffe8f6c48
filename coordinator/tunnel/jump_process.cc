#include "coordinator/tunnel/jump_process.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

constexpr std::chrono::milliseconds kJumpGrace{300};
constexpr std::chrono::seconds kJumpEndMax{2};  // once its connection has ended
// libssh writes what a writable socket takes, so this limit is never met; without it a mistake
// about that would hang a tunnel whose jump program is stopped.
constexpr timeval kJumpSendMax = {1, 0};

}  // namespace

absl::StatusOr<std::unique_ptr<JumpProcess>> JumpProcess::Start(const std::string& command,
                                                                const std::string& log,
                                                                UniqueFd* connection) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a pair of sockets for a jump host");
  }
  UniqueFd ours(pair[0]);
  const UniqueFd theirs(pair[1]);
  setsockopt(ours.get(), SOL_SOCKET, SO_SNDTIMEO, &kJumpSendMax, sizeof(kJumpSendMax));
  unlink(log.c_str());
  const char* const shell = std::getenv("SHELL");
  ChildOptions options;
  options.argv = {shell == nullptr || *shell == '\0' ? "/bin/sh" : shell, "-c",
                  absl::StartsWith(command, "exec ") ? command : absl::StrCat("exec ", command)};
  options.log_path = log;
  options.stdio = theirs.get();
  ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
  *connection = std::move(ours);
  return std::unique_ptr<JumpProcess>(new JumpProcess(std::move(child), log));
}

JumpProcess::~JumpProcess() {
  child_->Stop(kJumpGrace);
  unlink(log_.c_str());
}

bool JumpProcess::Ended() { return child_->Wait(kJumpEndMax).has_value(); }

std::string JumpProcess::LastWords() const { return LastLines(log_, 5); }

}  // namespace whetstone
