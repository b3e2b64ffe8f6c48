// An SshSession is an SSH connection: configured from ssh_config, its host key verified, the user
// authenticated. This is the only header here that shows libssh types.
#ifndef WHETSTONE_COORDINATOR_TUNNEL_SSH_SESSION_H_
#define WHETSTONE_COORDINATOR_TUNNEL_SSH_SESSION_H_

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/tunnel/jump_process.h"
#include "coordinator/tunnel/tunnel.h"

namespace whetstone {

// Returns the error that libssh tells of last, with `what` in front. libssh knows only "denied" and
// "fatal".
absl::Status StatusFromSsh(void* session, absl::StatusCode code, const std::string& what);

// A session belongs to one thread: libssh sessions are not thread-safe.
class SshSession {
 public:
  // Connects within options.connect_deadline. `stop` is polled at least every 50 ms. Errors are
  // those of OpenLibsshTunnel. What a jump program says is kept in a file beside
  // options.local_socket while the session lives.
  static absl::StatusOr<std::unique_ptr<SshSession>> Connect(const TunnelOptions& options,
                                                             const std::function<bool()>& stop);
  ~SshSession();
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  ssh_session get() const { return session_; }
  // Returns the connection's descriptor, for poll.
  int fd() const { return ssh_get_fd(session_); }
  // Returns the number of bytes that ever arrived: it grows whenever the peer lives and speaks.
  uint64_t received_bytes() const { return received_.in_bytes; }
  // Handles what has arrived and sends what waits; never blocks. An error means the session is
  // over.
  absl::Status HandlePackets();
  // Returns whether no more bytes can be sent now; the next poll then also waits until they can.
  bool Congested();
  // Asks the peer for a sign of life; any answer raises received_bytes().
  void SendKeepalive();
  // Returns the events that the connection's descriptor must be polled for; forgets earlier
  // congestion.
  short TakePollEvents();
  // Returns "me@127.0.0.1 port 2222", and by way of what, for messages.
  const std::string& where() const { return where_; }

 private:
  using Clock = std::chrono::steady_clock;
  SshSession() = default;
  absl::Status Configure(const TunnelOptions& options);
  // Returns the connection that SSH is spoken over: TCP, or a jump program's.
  absl::StatusOr<UniqueFd> Reach(const TunnelOptions& options, Clock::time_point deadline,
                                 const std::function<bool()>& stop);
  absl::Status Handshake(const TunnelOptions& options, Clock::time_point deadline,
                         const std::function<bool()>& stop);
  absl::Status VerifyHostKey() const;
  bool Broken() const { return (ssh_get_status(session_) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0; }
  absl::Status Authenticate(const TunnelOptions& options, Clock::time_point deadline,
                            const std::function<bool()>& stop);
  // Repeats a non-blocking libssh call until it is no longer `again`, and returns that; SSH_ERROR
  // if the connection broke, of which some calls say nothing.
  absl::StatusOr<int> Repeat(const std::function<int()>& call, int again,
                             Clock::time_point deadline, const std::function<bool()>& stop,
                             const std::string& what);

  absl::Status LogIn(const TunnelOptions& options, Clock::time_point deadline,
                     const std::function<bool()>& stop);

  std::unique_ptr<JumpProcess> jump_;  // where the ssh_config asks for one; outlives the session
  ssh_session session_ = nullptr;
  ssh_event event_ = nullptr;
  ssh_counter_struct received_ = {};
  bool congested_ = false;
  std::string where_;
  std::string jump_command_;   // empty: none
  std::string jump_greeting_;  // what the jump program had said when all was well
  std::string user_;
  std::string host_;
  int port_ = 22;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TUNNEL_SSH_SESSION_H_
