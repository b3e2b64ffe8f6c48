// Through a tunnel, connections to a local unix socket come out of a socket on another host, by
// SSH. It has two implementations, held to one conformance test
// (tests/system/tunnel_conformance_test.cc): OpenLibsshTunnel and OpenSshProgramTunnel (runs `ssh
// -L`); a campaign chooses (cluster.tunnel).
//
//   TunnelOptions options;
//   options.host = "cpu03";
//   options.remote_socket = "/run/whetstone/worker.sock";
//   options.local_socket = dir.path() + "/worker0.sock";
//   ASSIGN_OR_RETURN(std::unique_ptr<Tunnel> tunnel, OpenLibsshTunnel(options));
//   … connect to options.local_socket …
//
// When the connection breaks, open streams are closed, new ones are refused at once (a caller sees
// an error, not a hang), and the tunnel reconnects with back-off up to 2 s.
#ifndef WHETSTONE_COORDINATOR_TUNNEL_TUNNEL_H_
#define WHETSTONE_COORDINATOR_TUNNEL_TUNNEL_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace whetstone {

// A TunnelEvent says what happened to a tunnel's connection.
struct TunnelEvent {
  enum class State {
    kConnected,
    kLost,    // reconnecting; `detail` says why
    kFailed,  // will not be tried again: the host's key changed, or the account's was refused
  };
  State state = State::kConnected;
  std::string detail;
};

struct TunnelOptions {
  // The host is an alias of the ssh_config, or [user@]host[:port].
  std::string host;
  // This is the absolute path of a unix socket on that host, or a TCP address as that host sees it:
  // "127.0.0.1:7070".
  std::string remote_socket;
  // The tunnel listens here on this socket: at most 107 bytes, in a private directory. It must not
  // exist.
  std::string local_socket;
  // This is the OpenSSH client configuration; empty means ~/.ssh/config and /etc/ssh/ssh_config.
  std::string ssh_config;
  // This is called from the tunnel's thread after opening has succeeded. It must be quick, and may
  // be empty.
  std::function<void(const TunnelEvent&)> on_event;
  // This is polled on the caller's thread while opening; true gives up with CANCELLED. It may be
  // empty.
  std::function<bool()> cancelled;

  // Reaching the host and checking its key and ours may take this long, all together.
  std::chrono::milliseconds connect_deadline{10000};
  // The host's answer to one new stream may take this long.
  std::chrono::milliseconds stream_deadline{10000};
  // A silent peer is asked for a sign of life this often …
  std::chrono::milliseconds keepalive_interval{5000};
  // … and given up after this long.
  std::chrono::milliseconds dead_after{15000};
};

// A Tunnel is thread-safe. Destruction closes every stream and the connection, and removes the
// local socket.
class Tunnel {
 public:
  virtual ~Tunnel() = default;
  // Returns OK while connected, UNAVAILABLE while reconnecting, otherwise why it was given up.
  virtual absl::Status status() const = 0;
};

// Returns once a stream to the remote socket could be opened. Errors, each saying what to do:
//   INVALID_ARGUMENT   no such ssh_config, or it is not understood; bad host or remote_socket
//   UNAVAILABLE        host unknown, dead or refusing; or nothing listens on the remote socket
//   DEADLINE_EXCEEDED  host silent for connect_deadline
//   PERMISSION_DENIED  host key unknown or changed; or the server forbids socket forwarding
//   UNAUTHENTICATED    the host refused every key
//   ALREADY_EXISTS     local_socket is in use
//   CANCELLED
absl::StatusOr<std::unique_ptr<Tunnel>> OpenLibsshTunnel(const TunnelOptions& options);

// Does the same by running the `ssh` program, which must be installed. It is useful where a site's
// ssh_config uses what libssh does not know (Match exec, GSSAPI, certificates, hardware keys). A
// jump host's key is judged by the ssh_config alone (StrictHostKeyChecking there). Another error is
//   NOT_FOUND          there is no `ssh` in PATH
absl::StatusOr<std::unique_ptr<Tunnel>> OpenSshProgramTunnel(const TunnelOptions& options);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TUNNEL_TUNNEL_H_
