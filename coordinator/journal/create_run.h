// A new run directory with its journal and its frozen campaign.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_CREATE_RUN_H_
#define WHETSTONE_COORDINATOR_JOURNAL_CREATE_RUN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"

namespace whetstone {

struct CreatedRun {
  RunDir dir;
  std::unique_ptr<Journal> journal;
};

// Makes the run directory `root` for the campaign of `plan`. Errors are those of RunDir::Create,
// Journal::Create and FreezeCampaign; of the last two nothing stays.
absl::StatusOr<CreatedRun> CreateRun(const CampaignPlan& plan, const std::string& root);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_CREATE_RUN_H_
