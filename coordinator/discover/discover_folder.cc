#include "coordinator/discover/discover_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

constexpr char kGiven[] = "/given";
constexpr char kAsked[] = "/asked";
constexpr char kLock[] = "/lock";

// A folder may be made use of that has nothing but what Create leaves when it is killed.
absl::Status CheckOwn(const std::string& root) {
  std::error_code error;
  const bool begun = std::filesystem::exists(root + kLock, error);
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    const std::string name = entry.path().filename();
    const bool half =
        begun && (absl::StartsWith(name, "given") || absl::StartsWith(name, "asked") ||
                  absl::StartsWith(name, "problem.md"));
    if (name == "lock" || half) continue;
    return absl::AlreadyExistsError(absl::StrCat(root, " is there and holds no search (", name,
                                                 "); name another folder with --out"));
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read ", root));
  return absl::OkStatus();
}

}  // namespace

bool DiscoverFolder::Holds(const std::string& root) {
  std::error_code error;
  return std::filesystem::exists(root + kGiven, error) &&
         std::filesystem::exists(root + "/problem.md", error);
}

absl::StatusOr<DiscoverFolder> DiscoverFolder::Lock(const std::string& root) {
  const std::string path = root + kLock;
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
    return absl::FailedPreconditionError(
        absl::StrCat(root, ": another whet discover works there; wait for it, or end it"));
  }
  return DiscoverFolder(root, std::move(fd));
}

absl::StatusOr<DiscoverFolder> DiscoverFolder::Create(const std::string& root,
                                                      const std::string& given,
                                                      const std::string& asked,
                                                      const std::string& problem) {
  RETURN_IF_ERROR(MakeDirectories(root));
  RETURN_IF_ERROR(CheckOwn(root));
  ASSIGN_OR_RETURN(DiscoverFolder folder, Lock(root));
  if (Holds(root)) {
    return absl::FailedPreconditionError(
        absl::StrCat(root, ": another whet discover has just begun there; run this again"));
  }
  RETURN_IF_ERROR(WriteFileAtomically(folder.problem(), problem));
  RETURN_IF_ERROR(WriteFileAtomically(root + kAsked, asked));
  RETURN_IF_ERROR(WriteFileAtomically(root + kGiven, given));
  return folder;
}

absl::StatusOr<DiscoverFolder> DiscoverFolder::Open(const std::string& root,
                                                    const std::string& given,
                                                    const std::string& asked) {
  ASSIGN_OR_RETURN(DiscoverFolder folder, Lock(root));
  ASSIGN_OR_RETURN(const std::string given_before, ReadFile(root + kGiven));
  if (given_before != given) {
    return absl::AlreadyExistsError(absl::StrCat(
        root,
        " is the search for another function, or for this one before it was edited; name "
        "another folder with --out"));
  }
  ASSIGN_OR_RETURN(const std::string asked_before, ReadFile(root + kAsked));
  if (!asked.empty() && asked != asked_before) {
    return absl::AlreadyExistsError(
        absl::StrCat(root, " was begun with other answers:\n", asked_before,
                     "for these name another folder with --out, or remove this one"));
  }
  return folder;
}

bool DiscoverFolder::Approved() const {
  const absl::StatusOr<std::string> text = ReadFile(problem());
  const absl::StatusOr<std::string> before = ReadFile(approved());
  return text.ok() && before.ok() && *before == *text;
}

absl::Status DiscoverFolder::Approve(const std::string& problem) const {
  return WriteFileAtomically(approved(), problem);
}

absl::Status DiscoverFolder::CheckSettings(const std::string& settings) const {
  ASSIGN_OR_RETURN(const std::string before, ReadFile(this->settings()));
  if (settings.empty() || settings == before) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat(run(), " was begun with other settings:\n", before,
                   "and goes on with them; for others name another folder with --out"));
}

absl::Status DiscoverFolder::CheckUnchanged() const {
  std::error_code error;
  const bool begun =
      std::filesystem::exists(rule_log(), error) || std::filesystem::exists(run(), error);
  if (!begun || Approved()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(problem(),
                   " was edited after the search had begun; name another folder with "
                   "--out, or put back what was there, which is in ",
                   approved()));
}

}  // namespace whetstone
