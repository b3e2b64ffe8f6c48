// These are the doctor's checks of what a campaign names on this machine: models, problems,
// examples, disk. They read files only.
#ifndef WHETSTONE_COORDINATOR_DOCTOR_CAMPAIGN_CHECK_H_
#define WHETSTONE_COORDINATOR_DOCTOR_CAMPAIGN_CHECK_H_

#include <string>

#include "coordinator/doctor/finding.h"
#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

// `key` is the campaign's key that names the directory.
void CheckModelDirectory(const std::string& key, const std::string& path, const FindingSink& found);
void CheckProblems(const v1::Campaign& campaign, const FindingSink& found);
// Compares the room in `directory`, which may not exist yet, with what its checkpoints need.
void CheckDisk(const v1::Campaign& campaign, const std::string& directory,
               const FindingSink& found);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DOCTOR_CAMPAIGN_CHECK_H_
