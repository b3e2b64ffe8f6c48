#include "coordinator/journal/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/host.h"
#include "common/network_file_system.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

constexpr int kLooksMax = 100;
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
  if (lines.size() > 3) owner.device = lines[3];
  return owner;
}

// Returns which mount of this host's a file lies on: each may have locks of its own.
std::string DeviceOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? absl::StrCat(info.st_dev) : "";
}

// Returns what this process says of itself in `path` or beside it.
std::string OwnText(const std::string& path) {
  return absl::StrCat(getpid(), "\n", Hostname(), "\n", HostId(), "\n", DeviceOf(path), "\n");
}

// Whether a lock of that process's would be seen here.
bool SeesLocksOf(const RunOwner& owner, const std::string& path) {
  return owner.boot_id == HostId() && owner.device == DeviceOf(path);
}

absl::Status WriteRunOwner(int fd, const std::string& text, const std::string& path) {
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

std::string RunOwner::doubt() const {
  if (claim.empty()) return "";
  return absl::StrCat("; from here nobody can see whether that still runs: ",
                      "when no whet runs it there any more, remove ", claim);
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
  RETURN_IF_ERROR(WriteRunOwner(fd_.get(), OwnText(path_), path_));
  return true;
}

// The claim has its content from the first moment on: whoever is killed meanwhile leaves none, or
// one that says whose it is.
absl::Status RunLock::Claim() {
  const std::string path = ClaimOf(path_);
  const std::string temp = absl::StrCat(path, ".", Hostname(), ".", getpid());
  const absl::Cleanup remove_temp = [&temp] { unlink(temp.c_str()); };
  const std::string text = OwnText(path_);
  {
    const UniqueFd fd(open(temp.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!fd) return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", temp));
    RETURN_IF_ERROR(WriteRunOwner(fd.get(), text, temp));
  }
  bool ours = link(temp.c_str(), path.c_str()) == 0;
  if (!ours && errno != EEXIST) {  // there are no hard links there
    ours = static_cast<bool>(
        UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)));
  }
  if (!ours && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", path));
  }
  if (!ours) {
    RunOwner owner = ReadRunOwner(path).value_or(RunOwner());
    if (!SeesLocksOf(owner, path_)) {
      owner.claim = path;
      return absl::FailedPreconditionError(
          absl::StrCat("the run belongs to ", owner.text(), ": go on with it there. ", path_,
                       " lies on ", NetworkFileSystem(path_), owner.doubt(), " and try again"));
    }
  }
  if (rename(temp.c_str(), path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", path));
  }
  claim_ = text;
  return absl::OkStatus();
}

RunLock::~RunLock() {
  // Where it was removed by hand it may be another's by now.
  if (!fd_ || claim_.empty()) return;
  const std::string path = ClaimOf(path_);
  if (ReadFile(path).value_or("") == claim_) unlink(path.c_str());
}

std::optional<RunOwner> RunLock::Holder(const std::string& path) {
  {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return std::nullopt;
    if (flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      return ReadRunOwner(path).value_or(RunOwner());
    }
  }
  if (NetworkFileSystem(path).empty()) return std::nullopt;
  std::optional<RunOwner> claim = ReadRunOwner(ClaimOf(path));
  if (!claim || SeesLocksOf(*claim, path)) return std::nullopt;
  claim->claim = ClaimOf(path);
  return claim;
}

}  // namespace whetstone
