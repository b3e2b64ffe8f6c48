// A fork is another run that goes on from a checkpoint of this one, with the optimizer's state, and
// mostly with other settings: `whet fork RUN 20 --set train.lr=5e-6`. Its journal begins as the
// original's did, up to that checkpoint, so that reports and replays of it are whole.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_FORK_RUN_H_
#define WHETSTONE_COORDINATOR_JOURNAL_FORK_RUN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/run_dir.h"

namespace whetstone {

struct ForkOptions {
  std::optional<int64_t> step = {};    // GRPO step, 0: the warm-up; nothing: the newest checkpoint
  std::vector<std::string> sets = {};  // as of ChangeSettings (change_settings.h)
  std::function<absl::Status(const CampaignPlan& changed)> check = {};  // the same
  std::function<bool()> stopped = {};  // asked between its parts, on the caller's thread
};

// Makes the run directory `root`, at once or not at all, and returns what it is, "a fork of ID at
// step 20". Of the run at `source`, which may be live, nothing is changed; checkpoints in its
// directory come along, by a hard link where there is one file system. Errors are those of OpenRun
// and ChangeSettings. NOT_FOUND: no such checkpoint is there; those that are are named.
// ALREADY_EXISTS: something is at `root`. CANCELLED: stopped.
absl::StatusOr<std::string> ForkRun(const RunPaths& source, const ForkOptions& options,
                                    const std::string& root);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_FORK_RUN_H_
