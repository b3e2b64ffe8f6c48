// A run that has begun goes on with other settings: `whet resume RUN --set KEY=VALUE`. Which keys
// may change, and from when on they count, coordinator/config/setting_changes.h says. A step is of
// one setting throughout: one that has begun ends as it began.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_CHANGE_SETTINGS_H_
#define WHETSTONE_COORDINATOR_JOURNAL_CHANGE_SETTINGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/open_run.h"

namespace whetstone {

// Changes the run, which is open to write, and journals what differs; returns "from step 21:
// train.lr 1e-05 -> 2e-06", or nothing where nothing does. INVALID_ARGUMENT, and nothing is
// changed: a key that may not change, a broken rule (also of the problems' files, if it only now
// learns), or no step is left that could have it: train.steps is no less than the first untouched
// step. `check`, if any, may refuse what it would become.
absl::StatusOr<std::string> ChangeSettings(
    const std::vector<std::string>& sets, OpenedRun* run,
    const std::function<absl::Status(const CampaignPlan& changed)>& check = {});

// Gives a plan that was built of the campaign the run began with what was changed since.
absl::Status ApplyChanges(const std::vector<RecordedChange>& changes, CampaignPlan* plan);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_CHANGE_SETTINGS_H_
