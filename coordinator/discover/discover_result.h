// The end of a search: the fastest of what rules and policy found, proved outside of Whetstone,
// with its diff to the reference and the history of its speed.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_RESULT_H_
#define WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_RESULT_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/discover/discover_folder.h"
#include "coordinator/journal/journal.h"
#include "coordinator/proof/verify_best.h"
#include "coordinator/rewrites/rewrite_search.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// One record: from then on a program was the fastest.
struct SpeedRecord {
  std::string when;  // "rules", "step 12"
  std::string what;
  double speedup = 1;
};

struct FoundProgram {
  std::string folder;  // with its proof
  std::string source;
  // Against the reference, with its interval of 95 %.
  double speedup = 1;
  double speedup_low = 1;
  double speedup_high = 1;
  std::vector<SpeedRecord> history;  // up to this one
  // What its own benchmark found; none: it was not run, or could not be, and why.
  std::optional<Verification> verification = {};
  std::string not_verified = {};

  bool confirmed() const { return verification && verification->confirmed; }
};

// A program by rules, measured precisely.
struct ProvedRewrite {
  FoundRewrite program;
  v1::Verdict verdict;
};

// Keeps what rules found as FOLDER/rules.json: the first of `proved`, unless it is not clearly
// faster than the reference.
absl::Status WriteRuleResult(const DiscoverFolder& folder, const RewriteSearch& search,
                             const std::vector<ProvedRewrite>& proved);

// Returns how many GRPO steps are done.
absl::StatusOr<int64_t> StepsDone(const Journal& journal);

// Returns the position of the best: one that is confirmed, else one that is right, else one that
// was not run; of equals the first. There is at least one.
size_t ChooseBest(const std::vector<FoundProgram>& programs);

struct DiscoverResult {
  std::optional<FoundProgram> best;  // none: nothing faster than the reference
  std::string proof;                 // the folder that proves it: FOLDER/best, or its own
  // A program that looked faster and was passed over, as its benchmark did not confirm it.
  std::optional<FoundProgram> passed_over;
  // Where there is no best after the campaign began: what was tried, and what may help.
  std::string why;
  std::string diff;
  int64_t steps_done = 0;
  int64_t steps_total = 0;
  // Of the fastest program by rules, where they are not through: it is in rules.log, unproved.
  std::optional<double> unproved_speedup;
};

// Fills FOLDER/best of what rules and the campaign have found so far. With `verify` the benchmarks
// of programs are run, the fastest first, until one is confirmed or `stopped` says so; without it a
// FOLDER/best that is there stays. `status` hears what is going on. DATA_LOSS: rules.json is
// damaged. Other errors are those of reading the run.
absl::StatusOr<DiscoverResult> Conclude(const DiscoverFolder& folder, const v1::Problem& problem,
                                        bool verify, const std::function<bool()>& stopped,
                                        const std::function<void(const std::string&)>& status);

std::string ResultText(const DiscoverResult& result, const DiscoverFolder& folder);
nlohmann::ordered_json ResultJson(const DiscoverResult& result, const DiscoverFolder& folder);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_RESULT_H_
