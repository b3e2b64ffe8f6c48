// Every service of this project runs its gRPC server so: on a unix socket of mode 0600 (0660 for a
// group), or on loopback TCP with a bearer token, and nowhere else; with the standard health
// service.
#ifndef WHETSTONE_COMMON_SERVER_H_
#define WHETSTONE_COMMON_SERVER_H_

#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace whetstone {

struct ListenOptions {
  // The address is "unix:/run/whetstone/worker.sock" or "127.0.0.1:7070" / "[::1]:7070" (port 0:
  // any free).
  std::string address;
  // This group, for unix only, may connect too (mode 0660). Empty: the owner alone (0600).
  std::string group;
  // This file, for TCP only and required there, holds the bearer token (mode 0600 or stricter).
  std::string token_file;
};

class RpcServer {
 public:
  // Serves `service` (borrowed; must outlive the server) on its own threads.
  // INVALID_ARGUMENT: an address that is neither, or TCP without a token.
  // ALREADY_EXISTS: another live server holds the socket or port. A dead server's socket is
  // replaced.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const ListenOptions& options,
                                                          grpc::Service* service);
  ~RpcServer();
  // Blocks until SIGINT or SIGTERM (which must be blocked in every thread: BlockStopSignals), then
  // refuses new calls, gives running ones `grace_s` seconds and cancels the rest.
  void ServeUntilSignal(double grace_s);
  // Returns the port really bound; 0 for a unix socket.
  int port() const { return port_; }

 private:
  RpcServer() = default;
  std::string socket_path_;
  UniqueFd socket_lock_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Blocks SIGINT and SIGTERM in this and all later threads. It is called first in main.
void BlockStopSignals();

// Neither side accepts a larger message than this.
inline constexpr int kMessageBytesMax = 256 << 20;

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_SERVER_H_
