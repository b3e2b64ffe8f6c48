#include "common/file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

absl::Status ErrnoStatus(absl::string_view what, const std::string& path) {
  const int error = errno;
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " ", path, ": the disk is full (",
                                                     std::strerror(error),
                                                     "); free some space and try again"));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(what, " ", path));
}

absl::Status WriteAll(int fd, absl::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus("cannot write", path);
    content.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

// Whether a lock there is seen by all who can see the directory: elsewhere, on NFS say, a
// directory's lock is its host's own.
bool LocksAreSeen(const char* base) {
  struct statfs info;
  if (statfs(base, &info) != 0) return false;
  constexpr int64_t kLocal[] = {TMPFS_MAGIC, EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                OVERLAYFS_SUPER_MAGIC};
  return std::count(std::begin(kLocal), std::end(kLocal), int64_t{info.f_type}) > 0;
}

// Removes what Make made for this prefix and user, and nobody holds any more.
void SweepAbandoned(const std::string& base, absl::string_view prefix) {
  constexpr size_t kRandom = 6;  // characters that mkdtemp fills in
  const std::string begin = absl::StrCat(prefix, ".");
  std::error_code error;
  for (std::filesystem::directory_iterator entry(base, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() != begin.size() + kRandom || !absl::StartsWith(name, begin)) continue;
    const UniqueFd folder(
        open(entry->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info;
    if (!folder || fstat(folder.get(), &info) != 0 || info.st_uid != geteuid()) continue;
    std::error_code ignored;
    if (flock(folder.get(), LOCK_EX | LOCK_NB) == 0) {
      std::filesystem::remove_all(entry->path(), ignored);
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus("cannot read", path);
  std::string content;
  char buffer[1 << 16];
  while (true) {
    const ssize_t n = read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus("cannot read", path);
    if (n == 0) return content;
    content.append(buffer, static_cast<size_t>(n));
  }
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content) {
  const std::string temp = path + ".tmp";
  const int fd = open(temp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus("cannot create", temp);
  absl::Status status = WriteAll(fd, content, temp);
  if (status.ok() && fsync(fd) != 0) status = ErrnoStatus("cannot fsync", temp);
  if (close(fd) != 0 && status.ok()) status = ErrnoStatus("cannot close", temp);
  if (status.ok() && rename(temp.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus("cannot rename to", path);
  }
  if (!status.ok()) {
    unlink(temp.c_str());
    return status;
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const UniqueFd dir(
      open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dir.get() < 0) return ErrnoStatus("cannot open", parent);
  if (fsync(dir.get()) != 0) return ErrnoStatus("cannot fsync", parent);
  return absl::OkStatus();
}

absl::Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot create ", path));
  return absl::OkStatus();
}

absl::StatusOr<TempDir> TempDir::Make(absl::string_view prefix) {
  const char* base = std::getenv("TMPDIR");
  if (base == nullptr || *base == '\0' || absl::string_view(base).size() > 40) base = "/tmp";
  if (LocksAreSeen(base)) SweepAbandoned(base, prefix);
  // Another process may sweep between the making of a directory and its lock: then another is made.
  constexpr int kAttemptsMax = 16;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    std::string path = absl::StrCat(base, "/", prefix, ".XXXXXX");
    if (mkdtemp(path.data()) == nullptr) return ErrnoStatus("cannot create", path);
    UniqueFd lock(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock) {
      if (errno == ENOENT) continue;
      return ErrnoStatus("cannot open", path);
    }
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) continue;
      return ErrnoStatus("cannot lock", path);
    }
    if (access(path.c_str(), F_OK) == 0) return TempDir(std::move(path), std::move(lock));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot keep a directory in ", base, ": each was removed at once"));
}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

absl::Status TempDir::Check() const {
  struct stat there, mine;
  const bool seen = stat(path_.c_str(), &there) == 0;
  if (!seen && errno != ENOENT && errno != ENOTDIR) {
    return absl::UnavailableError(absl::StrCat(path_, " can't be seen: ", strerror(errno)));
  }
  if (seen && fstat(lock_.get(), &mine) == 0 && there.st_dev == mine.st_dev &&
      there.st_ino == mine.st_ino) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("somebody has removed ", path_));
}

TempDir::~TempDir() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace whetstone
