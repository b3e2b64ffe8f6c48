// PickSamples picks rollouts for a person who wants to see what a policy writes and why it fails:
// of every problem the best one, and of each outcome a typical one.
//
//   ASSIGN_OR_RETURN(const auto samples, PickSamples(plan, *journal));
//   samples.at("dot_f32").outcomes[0].typical.completion.text();
#ifndef WHETSTONE_COORDINATOR_REPORT_REPORT_SAMPLES_H_
#define WHETSTONE_COORDINATOR_REPORT_REPORT_SAMPLES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/journal/journal.h"

namespace whetstone {

// So many of a run's verdicts are looked at, the newest ones.
inline constexpr int64_t kSampleVerdictsMax = 4000;

struct RolloutSample {
  v1::Completion completion;
  VerdictEntry judged;
};

struct OutcomeSample {
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  int count = 0;  // verdicts with this outcome
  int alike = 0;  // those of them whose detail begins as the typical one's, numbers aside
  // It is the median by reward of CORRECT ones, else the newest one with the commonest beginning of
  // a detail.
  RolloutSample typical;
};

struct ProblemSamples {
  int verdicts = 0;                     // of this problem, among those looked at
  std::vector<OutcomeSample> outcomes;  // the commonest first
  // The best is the CORRECT one with the highest reward; nothing if none is.
  std::optional<RolloutSample> best;
};

// Returns them by problem id; problems without verdicts are left out. Errors are the journal's.
absl::StatusOr<std::map<std::string, ProblemSamples>> PickSamples(const CampaignPlan& plan,
                                                                  const Journal& journal);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_REPORT_SAMPLES_H_
