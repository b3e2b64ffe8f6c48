#include "coordinator/journal/run_dir.h"

#include <unistd.h>

#include <algorithm>
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
#include "common/shell_word.h"
#include "common/status_macros.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/pause_file.h"

namespace whetstone {
namespace {

constexpr auto kLockPoll = std::chrono::milliseconds(50);
// A process that was killed lets go of its lock once the kernel has torn it down.
constexpr auto kDyingPatience = std::chrono::seconds(3);

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

}  // namespace

RunPaths::RunPaths(const std::string& root) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(root, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  root_ = path.string();
}

std::string RunPaths::PutCampaignBack() const {
  return absl::StrCat("sqlite3 -readonly ", ShellWord(journal()),
                      " \"SELECT value FROM meta WHERE key = 'campaign'\" > ",
                      ShellWord(campaign()));
}

namespace {

// Whether nothing but what comes before a run's journal is there: its maker was killed at once. A
// journal is made in one transaction, before campaign.yaml and inputs/.
bool HoldsARunThatNeverBegan(const RunPaths& paths) {
  std::error_code error;
  if (!std::filesystem::exists(paths.lock(), error)) return false;
  for (const auto& entry : std::filesystem::directory_iterator(paths.root(), error)) {
    const std::string path = entry.path().string();
    if (!absl::StartsWith(path, paths.lock()) && path != paths.logs() && path != paths.journal() &&
        path != paths.journal() + "-wal" && path != paths.journal() + "-shm" &&
        path != paths.journal() + "-journal") {
      return false;
    }
  }
  return !error && Journal::IsEmpty(paths.journal());
}

// Names the owner, whose lock was found taken a moment ago.
std::string OwnerText(const RunPaths& paths) {
  return RunDir::Owner(paths).value_or(RunOwner()).text();
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
  ASSIGN_OR_RETURN(RunLock lock, RunLock::Open(paths.lock()));
  ASSIGN_OR_RETURN(const bool locked, lock.TryTake());
  if (!locked) {
    return absl::FailedPreconditionError(absl::StrCat(root, " is in use by ", OwnerText(paths)));
  }
  if (used) {
    if (!HoldsARunWithoutProgress(paths)) return taken;
    // What an endpoint was asked was asked, though nothing came of it.
    const std::set<std::string> kept = {paths.logs(), paths.endpoint_usage()};
    std::vector<std::filesystem::path> old;
    for (const std::string& folder : {paths.root(), paths.logs()}) {
      for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string path = entry.path().string();
        if (kept.count(path) == 0 && !absl::StartsWith(path, paths.lock())) old.push_back(path);
      }
    }
    for (const std::filesystem::path& path : old) std::filesystem::remove_all(path, error);
  }
  return RunDir(paths, std::move(lock));
}

absl::StatusOr<RunDir> RunDir::Open(const std::string& root, std::chrono::seconds patience,
                                    const std::function<void(const std::string&)>& waiting) {
  ASSIGN_OR_RETURN(const RunPaths paths, Find(root));
  ASSIGN_OR_RETURN(RunLock lock, RunLock::Open(paths.lock()));
  const auto start = std::chrono::steady_clock::now();
  const auto waited = [&] { return std::chrono::steady_clock::now() - start; };
  bool told = false;
  const auto tell = [&](const std::string& what) {
    if (!told && waiting) waiting(what);
    told = true;
    std::this_thread::sleep_for(kLockPoll);
  };
  while (true) {
    ASSIGN_OR_RETURN(const bool locked, lock.TryTake());
    if (locked) break;
    const std::string owner = OwnerText(paths);
    if (waited() >= std::min<std::chrono::nanoseconds>(patience, kDyingPatience)) {
      return absl::FailedPreconditionError(absl::StrCat(
          root, " belongs to ", owner, ", which is still running; see: whet status ", root));
    }
    tell(absl::StrCat("waiting for ", owner, " to end"));
  }
  RETURN_IF_ERROR(RemovePauseFile(paths.paused()));
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
  return RunDir(paths, std::move(lock));
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

std::optional<RunOwner> RunDir::Owner(const RunPaths& paths) {
  return RunLock::Holder(paths.lock());
}

}  // namespace whetstone
