#include "coordinator/tunnel/sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

absl::StatusOr<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a socket path has 1 to ", sizeof(address.sun_path) - 1, " bytes, this has ",
                     path.size(), ": ", path, "; set TMPDIR to a shorter directory"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

constexpr std::chrono::milliseconds kStopPoll{50};

// A Lookup is a name being resolved; the thread that does it and the one that waits share it.
struct Lookup {
  ~Lookup() {
    if (found != nullptr) freeaddrinfo(found);
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;  // mutex protects these three
  int rc = 0;
  addrinfo* found = nullptr;
};

absl::StatusOr<std::shared_ptr<const Lookup>> Resolve(
    const std::string& host, int port, std::chrono::steady_clock::time_point deadline,
    const std::function<bool()>& stop, const Resolver& resolver) {
  const auto lookup = std::make_shared<Lookup>();
  std::thread([lookup, host, service = absl::StrCat(port), resolver] {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int rc = resolver(host.c_str(), service.c_str(), &hints, &found);
    const std::lock_guard<std::mutex> lock(lookup->mutex);
    lookup->rc = rc;
    lookup->found = rc == 0 ? found : nullptr;
    lookup->done = true;
    lookup->changed.notify_one();
  }).detach();
  std::unique_lock<std::mutex> lock(lookup->mutex);
  while (!lookup->done) {
    if (stop && stop()) return absl::CancelledError(absl::StrCat("stopped resolving ", host));
    if (std::chrono::steady_clock::now() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("no name server says what address '", host,
                       "' has: this machine's network is down, or its /etc/resolv.conf is wrong; "
                       "try: getent hosts ",
                       host));
    }
    lookup->changed.wait_for(lock, kStopPoll);
  }
  if (lookup->rc != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot resolve host '", host, "' (", gai_strerror(lookup->rc),
                     "): check its spelling in the campaign and HostName in ssh_config"));
  }
  return std::shared_ptr<const Lookup>(lookup);
}

// Connects to one address; errno says why when the result is empty (0: stopped).
UniqueFd TryConnect(const addrinfo& address, std::chrono::steady_clock::time_point deadline,
                    const std::function<bool()>& stop) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return UniqueFd();
  while (true) {
    if (stop && stop()) {
      errno = 0;
      return UniqueFd();
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      errno = ETIMEDOUT;
      return UniqueFd();
    }
    pollfd p = {fd.get(), POLLOUT, 0};
    if (poll(&p, 1, static_cast<int>(std::min(left, kStopPoll).count())) <= 0) continue;
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0) return fd;
    errno = error;
    return UniqueFd();
  }
}

}  // namespace

absl::StatusOr<UniqueFd> ListenUnix(const std::string& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return absl::ErrnoToStatus(errno, "cannot make a socket");
  fchmod(fd.get(), 0600);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == EADDRINUSE) {
      return absl::AlreadyExistsError(
          absl::StrCat("cannot listen on ", path, ": it is in use or left over; remove it"));
    }
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot listen on ", path));
  }
  if (listen(fd.get(), 128) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot listen on ", path));
  }
  return fd;
}

absl::StatusOr<UniqueFd> ConnectUnix(const std::string& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return absl::ErrnoToStatus(errno, "cannot make a socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot connect to ", path, ": ", std::strerror(errno)));
  }
  return fd;
}

absl::StatusOr<UniqueFd> ConnectTcp(const std::string& host, int port,
                                    std::chrono::steady_clock::time_point deadline,
                                    std::chrono::milliseconds dead_after,
                                    const std::function<bool()>& stop, const Resolver& resolver) {
  const std::string where = absl::StrCat(host, " port ", port);
  ASSIGN_OR_RETURN(const std::shared_ptr<const Lookup> lookup,
                   Resolve(host, port, deadline, stop, resolver));
  int error = 0;
  for (const addrinfo* a = lookup->found; a != nullptr; a = a->ai_next) {
    UniqueFd fd = TryConnect(*a, deadline, stop);
    if (fd) {
      const int one = 1;
      setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
      const unsigned int dead_ms = static_cast<unsigned int>(dead_after.count());
      setsockopt(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
      return fd;
    }
    error = errno;
    if (error == 0) return absl::CancelledError(absl::StrCat("stopped connecting to ", where));
  }
  if (error == ETIMEDOUT) {
    return absl::DeadlineExceededError(
        absl::StrCat("no answer from ", where,
                     ": the host is down, or a firewall drops packets; try: ssh -v ", host));
  }
  return absl::UnavailableError(absl::StrCat("cannot connect to ", where, ": ",
                                             std::strerror(error),
                                             "; is sshd running there, and is the port right?"));
}

WakeFd::WakeFd() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { CHECK(fd_); }

void WakeFd::Wake() {
  const uint64_t one = 1;
  (void)!write(fd_.get(), &one, sizeof(one));
}

void WakeFd::Drain() {
  uint64_t count = 0;
  (void)!read(fd_.get(), &count, sizeof(count));
}

}  // namespace whetstone
