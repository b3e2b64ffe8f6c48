// These are plain sockets with deadlines: the local end of a tunnel and the TCP connection under
// SSH.
#ifndef WHETSTONE_COORDINATOR_TUNNEL_SOCKETS_H_
#define WHETSTONE_COORDINATOR_TUNNEL_SOCKETS_H_

#include <netdb.h>

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace whetstone {

// Returns a listening, non-blocking unix socket of mode 0600. ALREADY_EXISTS: something is there.
absl::StatusOr<UniqueFd> ListenUnix(const std::string& path);

// Returns a connected, blocking unix stream. UNAVAILABLE: nothing listens there.
absl::StatusOr<UniqueFd> ConnectUnix(const std::string& path);

// Does what getaddrinfo does, which is the usual one.
using Resolver = std::function<int(const char* host, const char* service, const addrinfo* hints,
                                   addrinfo** found)>;

// Returns a TCP connection to the first address of `host` that answers; TCP_NODELAY is set, and the
// kernel gives up on data that stays unacknowledged for `dead_after`. `stop` is polled every 50 ms;
// true ends with CANCELLED. UNAVAILABLE: unknown host or refused. DEADLINE_EXCEEDED: no answer, not
// even from the resolver, which can't be stopped and ends on a thread of its own.
absl::StatusOr<UniqueFd> ConnectTcp(const std::string& host, int port,
                                    std::chrono::steady_clock::time_point deadline,
                                    std::chrono::milliseconds dead_after,
                                    const std::function<bool()>& stop,
                                    const Resolver& resolver = getaddrinfo);

// A WakeFd is an eventfd: Wake makes fd() readable, Drain makes it quiet again. It is thread-safe.
class WakeFd {
 public:
  WakeFd();
  void Wake();
  void Drain();
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TUNNEL_SOCKETS_H_
