// Some metrics of an update say how fast it was, not what it computed. They differ each time the
// very same update is done; all others are functions of its numbers.
#ifndef WHETSTONE_COMMON_MEASURED_METRIC_H_
#define WHETSTONE_COMMON_MEASURED_METRIC_H_

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace whetstone {

inline bool IsMeasured(absl::string_view metric) {
  if (metric == "perf/packed_tokens" || metric == "perf/ranks") return false;
  return absl::StartsWith(metric, "perf/") || absl::StartsWith(metric, "profile/");
}

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_MEASURED_METRIC_H_
