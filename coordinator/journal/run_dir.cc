#include "coordinator/journal/run_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/journal/journal.h"

namespace whetstone {
namespace {

constexpr auto kLockPoll = std::chrono::milliseconds(50);
// A process that was killed lets go of its lock once the kernel has torn it down.
constexpr auto kDyingPatience = std::chrono::seconds(3);

absl::StatusOr<int> OpenLock(const RunPaths& paths) {
  const int fd = open(paths.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", paths.lock()));
  return fd;
}

// Returns the pid the owner wrote; 0 if there is none.
int ReadOwner(const RunPaths& paths) {
  const absl::StatusOr<std::string> text = ReadFile(paths.lock());
  int pid = 0;
  if (!text.ok() || !absl::SimpleAtoi(*text, &pid)) return 0;
  return pid;
}

// A pid may have been given to another program since.
bool IsLivingWhet(int pid) {
  if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH)) return false;
  const absl::StatusOr<std::string> name = ReadFile(absl::StrCat("/proc/", pid, "/comm"));
  return name.ok() && name->rfind("whet", 0) == 0 && *name != "whet-trainer\n" &&
         *name != "whet-worker\n";
}

// Returns the services (not this process, nor somebody's `tail -f`) that have a file below `folder`
// open.
std::vector<int> HoldersOf(const std::string& folder) {
  std::vector<int> holders;
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    int pid = 0;
    if (!absl::SimpleAtoi(process.path().filename().string(), &pid) || pid == getpid()) continue;
    const absl::StatusOr<std::string> name = ReadFile(process.path().string() + "/comm");
    if (!name.ok() || !absl::StartsWith(*name, "whet-")) continue;
    std::error_code denied;
    for (const auto& fd : std::filesystem::directory_iterator(process.path() / "fd", denied)) {
      const std::filesystem::path target = std::filesystem::read_symlink(fd.path(), denied);
      if (!denied && absl::StartsWith(target.string(), folder + "/")) {
        holders.push_back(pid);
        break;
      }
    }
  }
  return holders;
}

absl::Status WriteOwner(int fd, const RunPaths& paths) {
  const std::string text = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", paths.lock()));
  }
  return absl::OkStatus();
}

}  // namespace

RunPaths::RunPaths(const std::string& root) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(root, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  root_ = path.string();
}

std::string RunPaths::PutCampaignBack() const {
  return absl::StrCat("sqlite3 -readonly '", journal(),
                      "' \"SELECT value FROM meta WHERE key = 'campaign'\" > '", campaign(), "'");
}

namespace {

// Whether nothing but what comes before a run's journal is there: its maker was killed at once. A
// journal is made in one transaction, before campaign.yaml and inputs/.
bool HoldsARunThatNeverBegan(const RunPaths& paths) {
  std::error_code error;
  if (!std::filesystem::exists(paths.lock(), error)) return false;
  for (const auto& entry : std::filesystem::directory_iterator(paths.root(), error)) {
    const std::string path = entry.path().string();
    if (path != paths.lock() && path != paths.logs() && path != paths.journal() &&
        path != paths.journal() + "-wal" && path != paths.journal() + "-shm" &&
        path != paths.journal() + "-journal") {
      return false;
    }
  }
  return !error && Journal::IsEmpty(paths.journal());
}

bool HoldsARunWithoutProgress(const RunPaths& paths) {
  if (HoldsARunThatNeverBegan(paths)) return true;
  const absl::StatusOr<std::unique_ptr<Journal>> journal =
      Journal::Open(paths.journal(), /*read_only=*/true);
  if (!journal.ok()) return false;
  const absl::StatusOr<bool> progress = (*journal)->HasProgress();
  return progress.ok() && !*progress;
}

}  // namespace

absl::StatusOr<RunDir> RunDir::Create(const std::string& root) {
  const RunPaths paths(root);
  const absl::Status taken = absl::AlreadyExistsError(
      absl::StrCat(root, " is already there; go on with it by: whet resume ", root,
                   "  or start another by: whet run … --run-dir OTHER"));
  std::error_code error;
  const bool used = std::filesystem::exists(root, error) && !std::filesystem::is_empty(root, error);
  if (used && !std::filesystem::exists(paths.journal(), error) && !HoldsARunThatNeverBegan(paths)) {
    return taken;  // and is left without a lock
  }
  RETURN_IF_ERROR(MakeDirectories(root));
  ASSIGN_OR_RETURN(const int fd, OpenLock(paths));
  RunDir dir(paths, fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(root, " is in use by process ", ReadOwner(paths)));
  }
  if (used) {
    if (!HoldsARunWithoutProgress(paths)) return taken;
    // What an endpoint was asked was asked, though nothing came of it.
    const std::set<std::string> kept = {paths.lock(), paths.logs(), paths.endpoint_usage()};
    std::vector<std::filesystem::path> old;
    for (const std::string& folder : {paths.root(), paths.logs()}) {
      for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (kept.count(entry.path().string()) == 0) old.push_back(entry.path());
      }
    }
    for (const std::filesystem::path& path : old) std::filesystem::remove_all(path, error);
  }
  RETURN_IF_ERROR(WriteOwner(fd, paths));
  return dir;
}

absl::StatusOr<RunDir> RunDir::Open(const std::string& root, std::chrono::seconds patience,
                                    const std::function<void(const std::string&)>& waiting) {
  ASSIGN_OR_RETURN(const RunPaths paths, Find(root));
  ASSIGN_OR_RETURN(const int fd, OpenLock(paths));
  RunDir dir(paths, fd);
  const auto start = std::chrono::steady_clock::now();
  const auto waited = [&] { return std::chrono::steady_clock::now() - start; };
  bool told = false;
  const auto tell = [&](const std::string& what) {
    if (!told && waiting) waiting(what);
    told = true;
    std::this_thread::sleep_for(kLockPoll);
  };
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", paths.lock()));
    }
    const int owner = ReadOwner(paths);
    if (waited() >= std::min<std::chrono::nanoseconds>(patience, kDyingPatience)) {
      return absl::FailedPreconditionError(
          absl::StrCat(root, " belongs to process ", owner,
                       ", which is still running; see: whet status ", root));
    }
    tell(absl::StrCat("waiting for process ", owner, " to end"));
  }
  for (std::vector<int> left = HoldersOf(paths.logs()); !left.empty();
       left = HoldersOf(paths.logs())) {
    if (waited() >= patience) {
      return absl::FailedPreconditionError(
          absl::StrCat(root, " still has services of its predecessor running (process ",
                       absl::StrJoin(left, ", "), "); stop them and try again"));
    }
    tell(absl::StrCat("waiting for the predecessor's services to end (process ",
                      absl::StrJoin(left, ", "), ")"));
  }
  RETURN_IF_ERROR(WriteOwner(fd, paths));
  return dir;
}

absl::StatusOr<RunPaths> RunDir::Find(const std::string& root) {
  const RunPaths paths(root);
  std::error_code error;
  const bool campaign = std::filesystem::exists(paths.campaign(), error);
  if (!campaign && std::filesystem::exists(paths.journal(), error)) {
    const absl::StatusOr<std::unique_ptr<Journal>> journal =
        Journal::Open(paths.journal(), /*read_only=*/true);
    if (journal.ok() && !(*journal)->Fact("campaign").empty()) {
      return absl::NotFoundError(absl::StrCat(
          root, " has lost its campaign.yaml; put it back by: ", paths.PutCampaignBack()));
    }
  }
  if (!campaign && std::filesystem::exists(paths.lock(), error)) {
    return absl::NotFoundError(absl::StrCat(
        root,
        " holds a run that ended before it began; start it again: whet run CAMPAIGN --run-dir ",
        root));
  }
  if (!campaign || !std::filesystem::exists(paths.journal(), error)) {
    return absl::NotFoundError(
        absl::StrCat(root, " is not a run directory: it has no campaign.yaml and journal.db"));
  }
  return paths;
}

bool RunDir::InUse(const RunPaths& paths, int* pid) {
  *pid = ReadOwner(paths);
  return IsLivingWhet(*pid);
}

RunDir::~RunDir() {
  if (lock_fd_ >= 0) close(lock_fd_);
}

}  // namespace whetstone
