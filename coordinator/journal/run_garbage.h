// What of a run's directory nothing needs any more.
//
//   ASSIGN_OR_RETURN(RunGarbage garbage, FindGarbage(paths, /*keep=*/std::nullopt));
//   KeepNamed(named_by_other_runs, &garbage);
//   for (const Garbage& item : garbage.items) RETURN_IF_ERROR(RemoveGarbage(item));
//
// It is:
//
// * checkpoints that the run itself would remove when it next saves (checkpoint_retention.h), if
//   its newest one is whole;
// * what a save, or a removal, that was cut off left beside them;
// * logs of the services of a run that is done (`whet.log` and what an endpoint was asked stay);
// * what a process that was killed left: its control socket, and files that it had begun to write.
//
// Nothing else is looked at: what lies outside of the run's directory (a `checkpoint.dir`
// elsewhere, which copies and forks of the run may begin from), behind a symbolic link, or on a
// remote trainer, what `whet fetch` brought, and whatever the run did not make. What is removed
// must not be in use: to remove, hold the run's lock (RunDir::Open) and look again.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_RUN_GARBAGE_H_
#define WHETSTONE_COORDINATOR_JOURNAL_RUN_GARBAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/journal/run_dir.h"

namespace whetstone {

struct Garbage {
  std::string path;   // a file or a folder, absolute
  std::string why;    // nothing needs it: "of a run that is done"
  int64_t bytes = 0;  // that its removal frees: a file that a fork has too frees nothing
};

struct RunGarbage {
  std::vector<Garbage> items;
  // Directories of models and checkpoints that the run may load.
  std::vector<std::string> named;
  // Why checkpoints stay that would be garbage otherwise; empty: none do for such a reason.
  std::string doubt;
};

// Looks at the run and changes nothing. `keep` stands for the run's own checkpoint.keep, and is at
// least 1. Errors are OpenRun's and Journal::Restore's.
absl::StatusOr<RunGarbage> FindGarbage(const RunPaths& paths, std::optional<int> keep);

// Takes out what is one of the directories that other runs name, or holds one.
void KeepNamed(const std::vector<std::string>& named, RunGarbage* garbage);

// Removes it; a checkpoint is none any more from the first moment on.
absl::Status RemoveGarbage(const Garbage& garbage);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_RUN_GARBAGE_H_
