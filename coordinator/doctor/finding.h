// The doctor's checks report findings.
#ifndef WHETSTONE_COORDINATOR_DOCTOR_FINDING_H_
#define WHETSTONE_COORDINATOR_DOCTOR_FINDING_H_

#include <functional>
#include <string>

namespace whetstone {

struct Finding {
  enum class Level { kOk, kWarn, kFail };
  Level level = Level::kOk;
  std::string check;   // what was looked at: "campaign", "model", "worker cpu03: isolation"
  std::string detail;  // what was found
  std::string fix;     // a command or an edit; empty where there is nothing to mend
};

// Takes findings one by one, as they are made.
using FindingSink = std::function<void(const Finding&)>;

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DOCTOR_FINDING_H_
