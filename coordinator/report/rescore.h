// Rescoring says what another reward would have paid for the rollouts of a run: from the journal,
// with nothing generated or measured again. It says nothing of what the policy would have learned
// from it. Evaluations are left out: nothing is learned from them.
//
//   ASSIGN_OR_RETURN(const Rescored rescored, Rescore(run.plan, other_plan, *run.journal));
//   console.Line(RescoredText(rescored));
#ifndef WHETSTONE_COORDINATOR_REPORT_RESCORE_H_
#define WHETSTONE_COORDINATOR_REPORT_RESCORE_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/journal.h"

namespace whetstone {

// A Tally is of rewards that count: those of rollouts that are learned from.
struct RewardTally {
  int64_t rollouts = 0;
  double recorded = 0, rescored = 0;  // sums
};

struct RescoredStep {
  int64_t step = 0;
  RewardTally rewards;
  int groups = 0;  // whose verdicts are all there
  // Groups whose rewards differ by more than their errors: the others teach nothing.
  int teaching_recorded = 0, teaching_rescored = 0;
};

struct Rescored {
  std::vector<RescoredStep> steps;  // with at least one verdict, in order
  std::map<v1::Outcome, RewardTally> outcomes;
  // Pairs of one group whose rewards differ under both, and those among them whose order does.
  int64_t pairs = 0, turned = 0;
};

// `rescored` is the plan of the same run with other `reward` keys. Errors are Journal::ForEach's.
absl::StatusOr<Rescored> Rescore(const CampaignPlan& recorded, const CampaignPlan& rescored,
                                 const Journal& journal);

// Returns a table for people: outcomes, then the run's first and last steps.
std::string RescoredText(const Rescored& rescored);
nlohmann::ordered_json RescoredJson(const Rescored& rescored);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_RESCORE_H_
