#include "coordinator/report/health_news.h"

#include "coordinator/report/health_limits.h"

namespace whetstone {

std::vector<HealthFinding> HealthNews::Of(const std::vector<HealthFinding>& found) {
  for (auto& [key, looks] : looks_without_) ++looks;
  std::vector<HealthFinding> news;
  for (const HealthFinding& finding : found) {
    const auto [known, added] = looks_without_.try_emplace({finding.kind, finding.subject}, 0);
    if (added) news.push_back(finding);
    known->second = 0;
  }
  std::erase_if(looks_without_,
                [](const auto& known) { return known.second >= kHealthQuietLooks; });
  return news;
}

}  // namespace whetstone
