// The end of a search: the fastest of what rules and policy found, proved outside of Whetstone,
// with its diff to what was given and its lineage.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_RESULT_H_
#define WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_RESULT_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/discover/discover_folder.h"
#include "coordinator/proof/verify_best.h"
#include "coordinator/rewrites/rewrite_search.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// One idea on the way to a program.
struct LineageStep {
  std::string when;  // "rules", "step 12"
  std::string what;
  double speedup = 1;
};

struct FoundProgram {
  std::string folder;  // with its proof
  std::string source;
  // Against what was given, with its interval of 95 %.
  double speedup = 1;
  double speedup_low = 1;
  double speedup_high = 1;
  std::vector<LineageStep> lineage;
};

// Keeps what rules found as FOLDER/rules.json; `verdict` is that of the fastest, measured
// precisely.
absl::Status WriteRuleResult(const DiscoverFolder& folder, const RewriteSearch& search,
                             const std::optional<v1::Verdict>& verdict);

struct DiscoverResult {
  std::optional<FoundProgram> best;          // none: nothing faster than what was given
  std::optional<Verification> verification;  // none: nothing was proved
  std::string not_verified;                  // why, where there is a best
  std::string diff;
  int64_t steps_done = 0;
  int64_t steps_total = 0;
  // Of the fastest program by rules, where they are not through: it is in rules.log, unproved.
  std::optional<double> unproved_speedup;
};

// Fills FOLDER/best of what rules and the campaign have found so far. With `verify` the fastest
// program that its own benchmark confirms is the best one; where none is, the fastest is, not
// confirmed. Without it a FOLDER/best that is there stays. `status` hears what is going on.
// DATA_LOSS: rules.json is damaged. Other errors are those of reading the run.
absl::StatusOr<DiscoverResult> Conclude(const DiscoverFolder& folder, const v1::Problem& problem,
                                        bool verify,
                                        const std::function<void(const std::string&)>& status);

std::string ResultText(const DiscoverResult& result, const DiscoverFolder& folder);
nlohmann::ordered_json ResultJson(const DiscoverResult& result, const DiscoverFolder& folder);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_RESULT_H_
