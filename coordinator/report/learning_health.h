// LearningHealth says whether a run still learns, by its newest steps, and what to do where it does
// not.
//
//   for (const HealthFinding& finding : LearningHealth(plan, summary.rows)) {
//     console->Notice(finding.what + ": " + finding.advice);
//   }
#ifndef WHETSTONE_COORDINATOR_REPORT_LEARNING_HEALTH_H_
#define WHETSTONE_COORDINATOR_REPORT_LEARNING_HEALTH_H_

#include <map>
#include <string>
#include <vector>

#include "coordinator/durable/campaign_plan.h"

namespace whetstone {

// So many of the newest steps are looked at, and they must have so many completions together before
// anything is said of them.
inline constexpr int kHealthSteps = 5;
inline constexpr int kHealthCompletionsMin = 8;
// Something is said from these shares on, each a mean over those steps: of groups whose rewards are
// all equal; of completions that were cut off; of completions with one outcome, if that is not
// CORRECT. Of programs that differ from each other something is said up to kDistinctShare.
inline constexpr double kEqualGroupsShare = 0.9;
inline constexpr double kCutOffShare = 0.5;
inline constexpr double kOneOutcomeShare = 0.95;
inline constexpr double kDistinctShare = 0.25;

struct HealthFinding {
  std::string kind;    // "one_outcome", "cut_off", "equal_rewards", "no_variety"
  std::string what;    // what was seen, with its number and the steps that it is of
  std::string advice;  // what would change it in this campaign
};

// Returns what is wrong; `rows` are those of the GRPO steps (step_row.h), in order. Nothing is
// found in a run that learns, nor in one with too few completions. Pure.
std::vector<HealthFinding> LearningHealth(const CampaignPlan& plan,
                                          const std::vector<std::map<std::string, double>>& rows);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_LEARNING_HEALTH_H_
