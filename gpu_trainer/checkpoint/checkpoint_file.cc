#include "gpu_trainer/checkpoint/checkpoint_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/manifest.h"
#include "common/status_macros.h"

namespace whetstone {

absl::StatusOr<std::string> ReadCheckpointFile(const std::string& directory,
                                               const std::string& file, int64_t offset,
                                               int64_t length) {
  if (!absl::StartsWith(directory, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", directory, "' is not the absolute path of a checkpoint"));
  }
  if (offset < 0 || length < 1 || length > kCheckpointPieceBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("no ", length, " bytes from ", offset,
                                                   " can be read: 1 to ", kCheckpointPieceBytesMax,
                                                   " from 0 on"));
  }
  const std::string manifest_path = absl::StrCat(directory, "/", kManifestFile);
  const absl::StatusOr<std::string> text = ReadFile(manifest_path);
  if (!text.ok()) {
    return absl::NotFoundError(
        absl::StrCat("there is no checkpoint in ", directory,
                     " on the trainer's machine (any more): ", text.status().message()));
  }
  if (file != kManifestFile) {
    ASSIGN_OR_RETURN(const Manifest manifest, ParseManifest(*text, manifest_path));
    if (manifest.count(file) == 0) {
      return absl::NotFoundError(absl::StrCat("the checkpoint ", directory, " has no ", file));
    }
  }
  const std::string path = absl::StrCat(directory, "/", file);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  const absl::Cleanup close_fd = [fd] { close(fd); };
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat(path, " is no regular file"));
  }
  std::string piece(static_cast<size_t>(std::clamp<int64_t>(info.st_size - offset, 0, length)),
                    '\0');
  size_t have = 0;
  while (have < piece.size()) {
    const ssize_t n = pread(fd, piece.data() + have, piece.size() - have,
                            static_cast<off_t>(offset) + static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  piece.resize(have);
  return piece;
}

}  // namespace whetstone
