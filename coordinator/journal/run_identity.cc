#include "coordinator/journal/run_identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/journal/campaign_setup.h"

namespace whetstone {

// The number of a file system is left out: many change with the next mount.
absl::StatusOr<std::string> DirectoryMark(const std::string& directory) {
  struct statx found = {};
  if (statx(AT_FDCWD, directory.c_str(), 0, STATX_INO | STATX_BTIME, &found) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot look at ", directory));
  }
  if ((found.stx_mask & STATX_BTIME) == 0) return absl::StrCat(found.stx_ino);
  return absl::StrFormat("%d born %d.%09d", found.stx_ino, found.stx_btime.tv_sec,
                         found.stx_btime.tv_nsec);
}

bool MayBeOneDirectory(absl::string_view mark, absl::string_view other) {
  return mark == other || absl::StartsWith(mark, absl::StrCat(other, " born ")) ||
         absl::StartsWith(other, absl::StrCat(mark, " born "));
}

absl::StatusOr<bool> SettleIdentity(const RunPaths& paths, const std::string& name,
                                    Journal* journal) {
  ASSIGN_OR_RETURN(const std::string here, DirectoryMark(paths.root()));
  const std::string there = journal->Fact("directory");
  const bool copied = !there.empty() && !MayBeOneDirectory(here, there);
  // The mark that says more stays.
  if (!copied && here.size() <= there.size()) return false;
  std::map<std::string, std::string> facts = {{"directory", here}};
  if (copied) {
    facts["campaign_id"] = NewCampaignId(name);
    facts["origin"] = absl::StrCat("a copy of ", journal->campaign_id());
  }
  RETURN_IF_ERROR(journal->SetFacts(facts));
  return copied;
}

}  // namespace whetstone
