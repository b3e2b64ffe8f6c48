// Files that programs in the sandbox read: they run as another user.
#ifndef WHETSTONE_CPU_BENCH_WORKER_BUILD_READABLE_FILE_H_
#define WHETSTONE_CPU_BENCH_WORKER_BUILD_READABLE_FILE_H_

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {

// Writes as WriteFileAtomically does, readable for all whatever the umask: an operator's may be
// strict, and a server's is for the moment in which it makes its socket.
inline absl::Status WriteReadableFile(const std::string& path, absl::string_view content) {
  RETURN_IF_ERROR(WriteFileAtomically(path, content));
  chmod(path.c_str(), 0644);
  return absl::OkStatus();
}

// Makes a folder of such files.
inline absl::Status MakeReadableDirectory(const std::string& path) {
  RETURN_IF_ERROR(MakeDirectories(path));
  chmod(path.c_str(), 0755);
  return absl::OkStatus();
}

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_BUILD_READABLE_FILE_H_
