// LearningHealth says whether a run still learns, by its newest steps and by how they go on, and
// what to do where it does not. health_limits.h has the thresholds.
//
//   for (const HealthFinding& finding : LearningHealth(plan, summary.rows)) {
//     console->Notice(finding.what + ": " + finding.advice);
//   }
#ifndef WHETSTONE_COORDINATOR_REPORT_LEARNING_HEALTH_H_
#define WHETSTONE_COORDINATOR_REPORT_LEARNING_HEALTH_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/report/health_finding.h"
#include "coordinator/report/health_limits.h"
#include "coordinator/report/outcome_names.h"
#include "coordinator/report/trend_health.h"

namespace whetstone {

// A CollapseWatch tells of each problem since when all completions of a step are one program: a
// wrong one is a resting place, as no group has spread, and so is a copy of the reference.
//
//   watch.Add(step, row);
//   for (const HealthFinding& finding : watch.Collapsed()) console->Notice(finding.what + …);
//
// Its memory does not grow with the steps. It is not thread-safe.
class CollapseWatch {
 public:
  // `plan` is borrowed for the watch's life.
  explicit CollapseWatch(const CampaignPlan* plan) : plan_(plan) {}

  // Takes the row of the next GRPO step.
  void Add(int64_t step, const std::map<std::string, double>& row);
  // Returns all that are collapsed now, as long as it lasts.
  std::vector<HealthFinding> Collapsed() const;

 private:
  struct Repeated {
    int64_t since = 0;  // the first of the steps
    int steps = 0;      // so many of the problem's newest ones
    const OutcomeName* outcome = nullptr;
    double reward = 0;
  };
  HealthFinding Finding(const std::string& id, const Repeated& repeated) const;

  const CampaignPlan* plan_;
  std::map<std::string, Repeated> repeated_;  // by problem id
};

// Attempts is what became of the programs for some problems.
struct Attempts {
  std::set<std::string> problems;             // ids
  std::map<int, int64_t> verdicts;            // by outcome
  std::map<std::string, int64_t> techniques;  // of right programs
  double fastest = 0;  // right program's speedup, as first measured; 0: none was right

  void Add(const std::string& problem_id, const v1::Verdict& verdict);
};

inline constexpr char kNothingFaster[] = "nothing_faster";  // the kind of the next one's finding
// Says that nothing faster than the reference was found for those problems: what was tried, where
// it failed, and what to change. There is at least one verdict.
HealthFinding NothingFaster(const CampaignPlan& plan, const Attempts& attempts);

// A LearningWatch says the same step by step. Its memory does not grow with the steps. It is not
// thread-safe.
class LearningWatch {
 public:
  // `plan` is borrowed for the watch's life.
  explicit LearningWatch(const CampaignPlan* plan) : plan_(plan), collapse_(plan), trend_(plan) {}

  // Takes the row of the next GRPO step.
  void Add(int64_t step, const std::map<std::string, double>& row);
  // Returns all that is wrong now.
  std::vector<HealthFinding> Findings() const;
  // The rows of the newest kHealthSteps steps, or of all that there are.
  const std::vector<std::map<std::string, double>>& newest() const { return newest_; }

 private:
  const CampaignPlan* plan_;
  CollapseWatch collapse_;
  TrendWatch trend_;
  std::vector<std::map<std::string, double>> newest_;  // kHealthSteps at most
};

// Returns what is wrong; `rows` are those of the GRPO steps (step_row.h), in order. Nothing is
// found in a run that learns, nor in one with too few completions. Pure.
std::vector<HealthFinding> LearningHealth(const CampaignPlan& plan,
                                          const std::vector<std::map<std::string, double>>& rows);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_LEARNING_HEALTH_H_
