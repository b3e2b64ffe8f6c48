#include "coordinator/loop/control_address.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace whetstone {

absl::StatusOr<ControlAddress> ControlAddress::Open(const RunPaths& paths) {
  const int fd = open(paths.root().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", paths.root()));
  return ControlAddress(fd);
}

ControlAddress::~ControlAddress() {
  if (directory_fd_ >= 0) close(directory_fd_);
}

std::string ControlAddress::target() const {
  return absl::StrCat("unix:/proc/self/fd/", directory_fd_, "/control.sock");
}

}  // namespace whetstone
