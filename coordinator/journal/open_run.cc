#include "coordinator/journal/open_run.h"

#include <filesystem>
#include <string>
#include <vector>

#include "common/status_macros.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/change_settings.h"
#include "coordinator/journal/run_identity.h"

namespace whetstone {

absl::StatusOr<OpenedRun> OpenRun(const RunPaths& paths, bool read_only) {
  OpenedRun run;
  const absl::StatusOr<v1::Campaign> file = LoadCampaign(paths.campaign(), {});
  // A journal of an older version can not be brought up to date without the file.
  const bool own_checkpoints = !file.ok() || file->checkpoint().dir().empty() ||
                               file->checkpoint().dir() == paths.checkpoints();
  ASSIGN_OR_RETURN(run.journal,
                   Journal::Open(paths.journal(), read_only || !file.ok(), own_checkpoints));
  ASSIGN_OR_RETURN(const v1::Campaign campaign,
                   FrozenCampaign(file, paths, read_only, run.journal.get()));
  std::string id = run.journal->campaign_id();
  const std::string& shared = campaign.checkpoint().dir();
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
