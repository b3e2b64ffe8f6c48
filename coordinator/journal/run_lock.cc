#include "coordinator/journal/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/host.h"
#include "common/network_file_system.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

constexpr int kLooksMax = 10;
constexpr auto kLookAgain = std::chrono::milliseconds(5);

std::string ClaimOf(const std::string& path) { return path + ".host"; }

std::optional<RunOwner> ReadRunOwner(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return std::nullopt;
  const std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  RunOwner owner;
  if (!absl::SimpleAtoi(lines[0], &owner.pid)) owner.pid = 0;
  if (lines.size() > 2) {
    owner.host = lines[1];
    owner.boot_id = lines[2];
  }
  return owner;
}

absl::Status WriteRunOwner(int fd, const std::string& path) {
  const std::string text = absl::StrCat(getpid(), "\n", Hostname(), "\n", HostId(), "\n");
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      fsync(fd) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

}  // namespace

bool RunOwner::here() const { return host.empty() || boot_id == HostId(); }

std::string RunOwner::text() const {
  const std::string process = pid == 0 ? "another process" : absl::StrCat("process ", pid);
  return here() ? process : absl::StrCat(process, " on host ", host);
}

absl::StatusOr<RunLock> RunLock::Open(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  return RunLock(path, std::move(fd));
}

absl::StatusOr<bool> RunLock::TryTake() {
  for (int look = 0; flock(fd_.get(), LOCK_EX | LOCK_NB) != 0; ++look) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return absl::FailedPreconditionError(absl::StrCat(
          "cannot lock ", path_, ": ", std::strerror(errno),
          "; a run needs a file system with locks: mount this one with them, or name a directory "
          "elsewhere with --run-dir"));
    }
    if (look == kLooksMax) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  if (!NetworkFileSystem(path_).empty()) RETURN_IF_ERROR(Claim());
  RETURN_IF_ERROR(WriteRunOwner(fd_.get(), path_));
  return true;
}

absl::Status RunLock::Claim() {
  const std::string path = ClaimOf(path_);
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd && errno == EEXIST) {
    const RunOwner owner = ReadRunOwner(path).value_or(RunOwner());
    if (owner.boot_id != HostId()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the run belongs to ", owner.text(),
          ", and from here nobody can see whether that still "
          "runs, as ",
          path_, " lies on ", NetworkFileSystem(path_),
          ": go on with it on that host; or, when no whet runs it there any more, remove ", path,
          " and try again"));
    }
    fd = UniqueFd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  }
  if (!fd) return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", path));
  RETURN_IF_ERROR(WriteRunOwner(fd.get(), path));
  claim_ = std::move(fd);
  return absl::OkStatus();
}

RunLock::~RunLock() {
  if (claim_) unlink(ClaimOf(path_).c_str());
}

std::optional<RunOwner> RunLock::Holder(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  if (flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return ReadRunOwner(path).value_or(RunOwner());
  }
  if (NetworkFileSystem(path).empty()) return std::nullopt;
  std::optional<RunOwner> claim = ReadRunOwner(ClaimOf(path));
  if (claim && claim->boot_id == HostId()) claim.reset();  // its lock would have been seen
  return claim;
}

}  // namespace whetstone
