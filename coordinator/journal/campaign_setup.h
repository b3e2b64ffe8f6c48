// A parsed campaign becomes everything it needs, and goes into a run directory that needs nothing
// else.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_CAMPAIGN_SETUP_H_
#define WHETSTONE_COORDINATOR_JOURNAL_CAMPAIGN_SETUP_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"

namespace whetstone {

// Reads the prompt files and worked examples. Errors name file and line. `campaign_id` and
// `checkpoint_dir` stay as given.
absl::StatusOr<CampaignPlan> BuildPlan(const v1::Campaign& campaign, const std::string& campaign_id,
                                       const std::string& checkpoint_dir);

// Returns the folder that the policy is saved in: the campaign's own below checkpoint.dir, or that
// of the run directory.
std::string CheckpointDir(const v1::Campaign& campaign, const RunPaths& paths,
                          const std::string& campaign_id);

// Returns a new id: NAME-xxxxxxxx with eight random hexadecimal digits.
std::string NewCampaignId(const std::string& name);

// Copies the campaign's inputs (of the worked examples those that it shows) into the run directory
// and writes campaign.yaml, whose paths then name the copies: editing or moving the originals
// changes nothing any more.
absl::Status FreezeCampaign(const v1::Campaign& campaign, const RunPaths& paths);
// Journals what campaign.yaml says, once for all.
absl::Status RecordCampaign(const RunPaths& paths, Journal* journal);
// Returns the campaign that was journaled; `file` is what campaign.yaml says now, or why it can not
// be read. A journal of which it is not known takes `file` and, open to write, records it;
// DATA_LOSS: that is another campaign's. INVALID_ARGUMENT, only of one that is open to write:
// campaign.yaml was changed, and how.
absl::StatusOr<v1::Campaign> FrozenCampaign(const absl::StatusOr<v1::Campaign>& file,
                                            const RunPaths& paths, bool read_only,
                                            Journal* journal);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_CAMPAIGN_SETUP_H_
