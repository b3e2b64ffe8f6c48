// PickSamples picks rollouts for a person who wants to see what a policy writes and why it fails:
// of every problem the best and the worst one, and of each outcome a typical one.
//
//   ASSIGN_OR_RETURN(const auto samples, PickSamples(plan, *journal));
//   samples.at("dot_f32").outcomes[0].typical.completion.text();
#ifndef WHETSTONE_COORDINATOR_REPORT_REPORT_SAMPLES_H_
#define WHETSTONE_COORDINATOR_REPORT_REPORT_SAMPLES_H_

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/journal/journal.h"

namespace whetstone {

// So many of a run's verdicts are looked at, the newest ones; those of evaluations among them are
// passed over.
inline constexpr int64_t kSampleVerdictsMax = 4000;
// How they are picked, for the page.
inline constexpr char kSampleRule[] =
    "the best, which is right and has the highest reward, and the worst, which has the lowest and "
    "was not dropped (of equals the newest); of each outcome a typical one: of right programs the "
    "median by reward, else the newest of those whose message begins as most do, numbers aside";

struct RolloutSample {
  v1::Completion completion;
  VerdictEntry judged;
  // A unified diff from the reference to the program in it; empty: no program, or no change.
  std::string from_reference;
};

struct OutcomeSample {
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  int count = 0;  // verdicts with this outcome
  int alike = 0;  // those of them whose detail begins as the typical one's, numbers aside
  // It is the median by reward of CORRECT ones, else the newest one with the commonest beginning of
  // a detail.
  RolloutSample typical;
};

inline constexpr double kNoSpeedup = std::numeric_limits<double>::quiet_NaN();

struct ProblemSamples {
  int verdicts = 0;                     // of this problem, among those looked at
  std::vector<OutcomeSample> outcomes;  // the commonest first
  // The best is the CORRECT one with the highest reward; nothing if none is. The worst is the one
  // with the lowest; nothing if all were dropped.
  std::optional<RolloutSample> best;
  std::optional<RolloutSample> worst;
  // Quartiles of the speedups of those that are right and were timed, the median the second; NaN
  // where there are none.
  std::array<double, 3> speedups = {kNoSpeedup, kNoSpeedup, kNoSpeedup};
};

// Returns them by problem id; problems without verdicts are left out. Errors are the journal's.
absl::StatusOr<std::map<std::string, ProblemSamples>> PickSamples(const CampaignPlan& plan,
                                                                  const Journal& journal);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_REPORT_SAMPLES_H_
