// These are the doctor's checks of what a campaign names: models, problems, examples, disk. They
// read files only.
#ifndef WHETSTONE_COORDINATOR_DOCTOR_CAMPAIGN_CHECK_H_
#define WHETSTONE_COORDINATOR_DOCTOR_CAMPAIGN_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/doctor/finding.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Adds the prompts of the problems that are in order to `request`.
void CheckProblems(const v1::Campaign& campaign, const FindingSink& found,
                   v1::InspectModelRequest* request);
// Tells what the trainer answered to `request`, which is about the campaign's models.
void ReportModels(const v1::Campaign& campaign, const v1::InspectModelRequest& request,
                  const absl::StatusOr<v1::InspectModelResponse>& response,
                  const FindingSink& found);
// Compares the room in `directory`, which may not exist yet, with what checkpoints of a model of so
// many parameters need.
void CheckDisk(const v1::Campaign& campaign, int64_t parameters, const std::string& directory,
               const FindingSink& found);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DOCTOR_CAMPAIGN_CHECK_H_
