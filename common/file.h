// These functions read and write whole files, crash-safe where it matters.
#ifndef WHETSTONE_COMMON_FILE_H_
#define WHETSTONE_COMMON_FILE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace whetstone {

// Errors carry the path and the system's reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Writes PATH.tmp, fsyncs, renames over PATH and fsyncs the folder: a reader sees the old content
// or the new, and after a failure nothing is left behind. A full disk is RESOURCE_EXHAUSTED.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content);

// Does what mkdir -p does, with mode 0755.
absl::Status MakeDirectories(const std::string& path);

// A TempDir is a fresh private directory (mode 0700), PREFIX.xxxxxx under $TMPDIR or /tmp, its name
// kept short because a unix socket's path holds 107 bytes. It is removed with everything in it on
// destruction. A process that is killed leaves its own behind: the next Make of the same prefix and
// user removes it. A living owner is known by the lock (flock) that it holds on its directory,
// whatever namespace of processes it lives in.
class TempDir {
 public:
  static absl::StatusOr<TempDir> Make(absl::string_view prefix);
  TempDir(TempDir&& other) noexcept : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
    other.path_.clear();
  }
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();
  const std::string& path() const { return path_; }
  // NOT_FOUND: it is not the directory there any more; somebody has removed or replaced it.
  // UNAVAILABLE: it can't be seen.
  absl::Status Check() const;

 private:
  TempDir(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_FILE_H_
