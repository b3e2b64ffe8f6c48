// A HealthFinding is something wrong with a run that its operator should know (health_limits.h).
#ifndef WHETSTONE_COORDINATOR_REPORT_HEALTH_FINDING_H_
#define WHETSTONE_COORDINATOR_REPORT_HEALTH_FINDING_H_

#include <string>

namespace whetstone {

struct HealthFinding {
  std::string kind;          // of kHealthKinds
  std::string what;          // what was seen, with its number and the steps that it is of
  std::string advice;        // what would change it in this campaign
  std::string subject = {};  // the problem or the worker that it is of; empty: the run
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_HEALTH_FINDING_H_
