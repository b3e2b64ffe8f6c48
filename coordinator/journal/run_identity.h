// A run is itself wherever it lies: a run directory that was moved is the same campaign, a copy of
// one becomes a campaign of its own when it is first opened to go on.
//
//   ASSIGN_OR_RETURN(const bool copied, SettleIdentity(paths, campaign.name(), journal));
//
// A directory is told from its copies by its number in the file system and its time of birth, which
// renaming keeps; the journal has those of the directory that it was last written in. What a host
// can not tell (a time of birth, through some network file systems) is not compared. One that came
// from another file system, or out of a back-up file by file, counts as a copy, and so does one on
// a FUSE file system that numbers its files anew at each mount. That costs a load of its newest
// checkpoint, and leaves what it saved outside of its directory to the original. A snapshot of a
// whole file system or disk has the same numbers and times: it can not be told from the original.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_RUN_IDENTITY_H_
#define WHETSTONE_COORDINATOR_JOURNAL_RUN_IDENTITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"

namespace whetstone {

// Returns what tells this directory from its copies: "1234 born 1785074580.000000000", or "1234".
absl::StatusOr<std::string> DirectoryMark(const std::string& directory);

// Says whether two marks may be of one directory, each as its host saw it.
bool MayBeOneDirectory(absl::string_view mark, absl::string_view other);

// Gives the run of `journal`, which is open to write, a new campaign id if it lies in a copy of the
// directory that it was written in, and says whether it did. An earlier version's journal does not
// say where it was: it is taken for the original.
absl::StatusOr<bool> SettleIdentity(const RunPaths& paths, const std::string& name,
                                    Journal* journal);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_RUN_IDENTITY_H_
