// A UniqueFd is a file descriptor that closes itself.
#ifndef WHETSTONE_COMMON_UNIQUE_FD_H_
#define WHETSTONE_COMMON_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace whetstone {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // Gives the descriptor away: it is the caller's to close.
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_UNIQUE_FD_H_
