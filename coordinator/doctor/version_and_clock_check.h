// These checks hold what a service says of its host against what this program knows: versions and
// clocks may differ, and a GPU may lie idle.
#ifndef WHETSTONE_COORDINATOR_DOCTOR_VERSION_AND_CLOCK_CHECK_H_
#define WHETSTONE_COORDINATOR_DOCTOR_VERSION_AND_CLOCK_CHECK_H_

#include <string>

#include "coordinator/doctor/finding.h"

namespace whetstone {

// Warns about a service of another version than `ours`.
void CheckVersion(const std::string& service, const std::string& theirs, const std::string& ours,
                  const FindingSink& found);

// Warns about a clock that is off by so much that the hosts' logs can't be put in order. `theirs`
// was read there between `asked` and `answered` here; all in seconds since 1970. A service that
// does not say (0) is not judged.
void CheckClock(const std::string& service, double theirs, double asked, double answered,
                const FindingSink& found);

// Warns about a trainer that computes on the CPU of a host with a GPU for the reason given
// (TrainerInfo.unused_gpu), such as a driver too old; empty: it does not.
void CheckGpu(const std::string& service, const std::string& unused_gpu, const FindingSink& found);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DOCTOR_VERSION_AND_CLOCK_CHECK_H_
