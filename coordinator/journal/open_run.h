// An OpenedRun is a run directory's frozen campaign and its journal, which must belong together.
//
//   ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
//   RETURN_IF_ERROR(run.journal->ForEach(…));
#ifndef WHETSTONE_COORDINATOR_JOURNAL_OPEN_RUN_H_
#define WHETSTONE_COORDINATOR_JOURNAL_OPEN_RUN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"

namespace whetstone {

struct OpenedRun {
  CampaignPlan plan;
  std::unique_ptr<Journal> journal;
  // The id of the campaign that this one was a copy of until now (run_identity.h); else empty.
  std::string was_copy_of = {};
};

// Opens the run; to write, its lock must be held, and a copy becomes a campaign of its own. Errors
// are those of campaign_parser.h, campaign_setup.h and Journal::Open. DATA_LOSS: another campaign's
// journal. To read, a campaign.yaml that was edited since, even so that it can not be read, is as
// the journal has it.
absl::StatusOr<OpenedRun> OpenRun(const RunPaths& paths, bool read_only);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_OPEN_RUN_H_
