// A Wait is something the campaign can't go on without. Whatever is waited for has a name and a
// deadline.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_WAIT_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_WAIT_H_

#include <string>

#include "coordinator/durable/seconds.h"

namespace whetstone {

struct Wait {
  std::string name;  // "Trainer.Update step 12", "verdict of 12/0/3 from worker cpu02"
  Seconds since = 0;
  Seconds deadline = 0;
  bool computes = false;  // a service computes for it meanwhile
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_WAIT_H_
