// HealthNews picks the findings that are to be told from all that are found, look by look.
//
//   HealthNews news;
//   for (const HealthFinding& finding : news.Of(watch.Findings())) Tell(finding);
#ifndef WHETSTONE_COORDINATOR_REPORT_HEALTH_NEWS_H_
#define WHETSTONE_COORDINATOR_REPORT_HEALTH_NEWS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/report/health_finding.h"

namespace whetstone {

// It is not thread-safe.
class HealthNews {
 public:
  // Takes all that is found now. Returns what was not found before, by kind and subject, or is back
  // after kHealthQuietLooks looks without it.
  std::vector<HealthFinding> Of(const std::vector<HealthFinding>& found);

 private:
  std::map<std::pair<std::string, std::string>, int> looks_without_;  // by kind and subject
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_HEALTH_NEWS_H_
