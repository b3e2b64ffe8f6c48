#include "coordinator/journal/create_run.h"

#include <filesystem>
#include <utility>

#include "common/status_macros.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/run_identity.h"

namespace whetstone {

absl::StatusOr<CreatedRun> CreateRun(const CampaignPlan& plan, const std::string& root) {
  ASSIGN_OR_RETURN(RunDir dir, RunDir::Create(root));
  absl::StatusOr<std::unique_ptr<Journal>> journal =
      Journal::Create(dir.paths().journal(), plan.campaign_id);
  absl::Status status = journal.status();
  if (status.ok()) status = FreezeCampaign(plan.campaign, dir.paths());
  if (status.ok()) status = RecordCampaign(dir.paths(), journal->get());
  if (status.ok()) {
    status = SettleIdentity(dir.paths(), plan.campaign.name(), journal->get()).status();
  }
  if (!status.ok()) {
    std::error_code ignored;
    std::filesystem::remove_all(dir.paths().root(), ignored);
    return status;
  }
  return CreatedRun{std::move(dir), *std::move(journal)};
}

}  // namespace whetstone
