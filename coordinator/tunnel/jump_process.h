// A JumpProcess is the program that an ssh_config's ProxyJump or ProxyCommand asks for: it carries
// an SSH connection past a jump host. libssh could start it itself, but would wait for its end
// without a deadline, and write to it when it has gone, which raises SIGPIPE.
//
//   UniqueFd fd;
//   ASSIGN_OR_RETURN(auto jump, JumpProcess::Start("ssh -W '[gpu01]:22' gate", log, &fd));
//   … give fd.release() to libssh …
#ifndef WHETSTONE_COORDINATOR_TUNNEL_JUMP_PROCESS_H_
#define WHETSTONE_COORDINATOR_TUNNEL_JUMP_PROCESS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "coordinator/process/child_process.h"

namespace whetstone {

// A JumpProcess belongs to one thread.
class JumpProcess {
 public:
  // Starts `command` by the user's shell, as ssh_config(5) says; `*connection` becomes the socket
  // that it reads and writes. `log` (its folder must exist) takes what it says, from the beginning.
  // Errors: why it could not be started.
  static absl::StatusOr<std::unique_ptr<JumpProcess>> Start(const std::string& command,
                                                            const std::string& log,
                                                            UniqueFd* connection);
  // Ends the program, by force if it takes longer than 0.3 s, and removes the log.
  ~JumpProcess();

  // Returns whether it has ended, or does so within 2 s.
  bool Ended();
  // Returns what it said last; may be empty.
  std::string LastWords() const;

 private:
  JumpProcess(std::unique_ptr<ChildProcess> child, std::string log)
      : child_(std::move(child)), log_(std::move(log)) {}
  const std::unique_ptr<ChildProcess> child_;
  const std::string log_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TUNNEL_JUMP_PROCESS_H_
