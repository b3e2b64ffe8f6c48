#include "coordinator/journal/open_run.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/change_settings.h"
#include "coordinator/journal/run_identity.h"

namespace whetstone {

absl::StatusOr<OpenedRun> OpenRun(const RunPaths& paths, bool read_only) {
  OpenedRun run;
  ASSIGN_OR_RETURN(v1::Campaign campaign, LoadCampaign(paths.campaign(), {}));
  std::string shared = campaign.checkpoint().dir();
  ASSIGN_OR_RETURN(run.journal, Journal::Open(paths.journal(), read_only,
                                              shared.empty() || shared == paths.checkpoints()));
  std::string id = run.journal->campaign_id();
  if (!absl::StartsWith(id, campaign.name() + "-")) {
    return absl::DataLossError(absl::StrCat(paths.journal(), " is the journal of ", id,
                                            ", but campaign.yaml beside it is of ", campaign.name(),
                                            ": one of them was copied here"));
  }
  ASSIGN_OR_RETURN(campaign, FrozenCampaign(campaign, paths, read_only, run.journal.get()));
  shared = campaign.checkpoint().dir();
  if (!read_only) {
    ASSIGN_OR_RETURN(const bool copied, SettleIdentity(paths, campaign.name(), run.journal.get()));
    if (copied) run.was_copy_of = id;
    id = run.journal->campaign_id();
  }
  std::string checkpoints = CheckpointDir(campaign, paths, id);
  // Earlier versions saved all campaigns' beside each other. One that has begun so goes on so.
  ASSIGN_OR_RETURN(const std::string first, run.journal->FirstCheckpoint());
  const std::filesystem::path saved = first;
  if (!shared.empty() && run.journal->Fact("origin").empty() &&
      saved == std::filesystem::path(shared) / saved.filename()) {
    checkpoints = shared;
  }
  ASSIGN_OR_RETURN(run.plan, BuildPlan(campaign, id, checkpoints));
  ASSIGN_OR_RETURN(const std::vector<RecordedChange> changes, run.journal->Changes());
  RETURN_IF_ERROR(ApplyChanges(changes, &run.plan));
  if (saved.filename() == "warmup") run.plan.warmup_checkpoint = first;
  return run;
}

}  // namespace whetstone
