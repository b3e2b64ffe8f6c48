#include "gpu_trainer/distributed/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {

absl::StatusOr<int> BindLoopback(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot bind 127.0.0.1:", port));
  }
  return fd;
}

absl::StatusOr<uint16_t> FreeLoopbackPort() {
  ASSIGN_OR_RETURN(const int fd, BindLoopback(0));
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  const int failed = getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  close(fd);
  if (failed != 0) return absl::ErrnoToStatus(errno, "getsockname");
  return ntohs(address.sin_port);
}

}  // namespace whetstone
