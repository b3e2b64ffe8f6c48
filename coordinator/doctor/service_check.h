// These are the doctor's checks of a campaign's services: each is started or reached as a run would
// do it, asked what it is, and each worker measures its noise.
#ifndef WHETSTONE_COORDINATOR_DOCTOR_SERVICE_CHECK_H_
#define WHETSTONE_COORDINATOR_DOCTOR_SERVICE_CHECK_H_

#include <functional>
#include <string>

#include "coordinator/doctor/finding.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct ServiceCheckOptions {
  // It is polled; true ends the checks early. It may be empty.
  std::function<bool()> cancelled;
  // This folder holds the local services' binaries; empty means the one this program lies in.
  std::string bin_dir;
};

// `request` is about the campaign's models; the trainer of a cluster answers it.
void CheckServices(const v1::Campaign& campaign, const v1::InspectModelRequest& request,
                   const ServiceCheckOptions& options, const FindingSink& found);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DOCTOR_SERVICE_CHECK_H_
