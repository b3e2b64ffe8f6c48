// These functions read and write whole files, crash-safe where it matters.
#ifndef WHETSTONE_COMMON_FILE_H_
#define WHETSTONE_COMMON_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Errors carry the path and the system's reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Writes PATH.tmp, fsyncs, renames over PATH and fsyncs the folder: a reader sees the old content
// or the new, and after a failure nothing is left behind. A full disk is RESOURCE_EXHAUSTED.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content);

// Does what mkdir -p does, with mode 0755.
absl::Status MakeDirectories(const std::string& path);

// A TempDir is a fresh private directory (mode 0700) under $TMPDIR or /tmp, its name kept short
// because a unix socket's path holds 107 bytes. It is removed with everything in it on destruction.
class TempDir {
 public:
  static absl::StatusOr<TempDir> Make(absl::string_view prefix);
  TempDir(TempDir&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();
  const std::string& path() const { return path_; }

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_FILE_H_
