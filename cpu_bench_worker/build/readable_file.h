// Files that programs in the sandbox read: they run as another user.
#ifndef WHETSTONE_CPU_BENCH_WORKER_BUILD_READABLE_FILE_H_
#define WHETSTONE_CPU_BENCH_WORKER_BUILD_READABLE_FILE_H_

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/verdict/failure.h"

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

// A folder of such files that goes with its owner. It is thread-safe. Errors are the host's:
// UNAVAILABLE.
class OwnedFolder {
 public:
  // Makes PREFIX-N, with a number that no other of this process has.
  static absl::StatusOr<std::unique_ptr<OwnedFolder>> Make(const std::string& prefix) {
    static std::atomic<int64_t> made{0};
    std::unique_ptr<OwnedFolder> folder(new OwnedFolder(absl::StrCat(prefix, "-", ++made)));
    RETURN_IF_ERROR(OurStatus(MakeReadableDirectory(folder->path())));
    return folder;
  }
  ~OwnedFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  OwnedFolder(const OwnedFolder&) = delete;
  OwnedFolder& operator=(const OwnedFolder&) = delete;
  const std::string& path() const { return path_; }

  // Writes a file that is needed for as long as the folder is.
  absl::Status Write(const std::string& name, absl::string_view content) {
    const std::string path = absl::StrCat(path_, "/", name);
    RETURN_IF_ERROR(OurStatus(WriteReadableFile(path, content)));
    const std::lock_guard<std::mutex> lock(mutex_);
    files_.push_back(path);
    return absl::OkStatus();
  }
  // UNAVAILABLE: a file that was written is not there any more, or can't be seen.
  absl::Status Check() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::string& path : files_) {
      if (access(path.c_str(), F_OK) == 0) continue;
      return absl::UnavailableError(errno == ENOENT || errno == ENOTDIR
                                        ? absl::StrCat("somebody has removed ", path)
                                        : absl::StrCat(path, " can't be seen: ", strerror(errno)));
    }
    return absl::OkStatus();
  }

 private:
  explicit OwnedFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
  mutable std::mutex mutex_;
  std::vector<std::string> files_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_BUILD_READABLE_FILE_H_
