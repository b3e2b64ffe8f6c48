// Operators write "[user@]host[:port]" in a campaign.
#ifndef WHETSTONE_COORDINATOR_TUNNEL_SSH_TARGET_H_
#define WHETSTONE_COORDINATOR_TUNNEL_SSH_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

struct SshTarget {
  std::string user;  // empty: from ssh_config, else the current user
  std::string host;  // alias, name or address
  int port = 0;      // 0: from ssh_config, else 22
};

// Parses "gpu01", "me@gpu01:2222", "[::1]:2222". INVALID_ARGUMENT: empty, starts with '-', bad
// port.
absl::StatusOr<SshTarget> ParseSshTarget(absl::string_view text);

// Streams come out at this socket on the host: a unix socket, or a TCP port as the host itself sees
// it.
struct RemoteEnd {
  std::string path;  // empty: TCP
  std::string host;
  int port = 0;
};

// Parses "/run/whetstone/worker.sock", "127.0.0.1:7070", "[::1]:7070". INVALID_ARGUMENT: anything
// else.
absl::StatusOr<RemoteEnd> ParseRemoteEnd(absl::string_view text);

// Returns PATH with a leading "~/" replaced by the home directory.
std::string ExpandHome(const std::string& path);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TUNNEL_SSH_TARGET_H_
