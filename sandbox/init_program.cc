#include "sandbox/init_program.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

absl::StatusOr<int> OpenInitProgram() {
  std::string path;
  if (const char* given = std::getenv("WHETSTONE_SANDBOX"); given != nullptr) {
    path = given;
  } else {
    char self[PATH_MAX] = {};
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0) {
      return absl::FailedPreconditionError(
          "sandbox: /proc/self/exe is unreadable, so whet-sandbox cannot be found; mount /proc or "
          "set WHETSTONE_SANDBOX to its path");
    }
    path = self;
    path.resize(path.rfind('/') + 1);
    path += "whet-sandbox";
  }
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::NotFoundError(absl::StrCat("sandbox: ", path, ": ", std::strerror(errno),
                                            "; build or install whet-sandbox there, or set "
                                            "WHETSTONE_SANDBOX to its path"));
  }
  return fd;
}

}  // namespace

absl::StatusOr<int> InitProgramFd() {
  static std::mutex mutex;
  static int fd = -1;
  const std::lock_guard<std::mutex> lock(mutex);
  if (fd < 0) {
    ASSIGN_OR_RETURN(fd, OpenInitProgram());
  }
  return fd;
}

}  // namespace whetstone
