// A TrendWatch says what is wrong with how a run goes on: a reward that does not rise or has
// fallen, a policy that hardly chooses any more, or one that is far from where it was or from what
// it sampled. health_limits.h has the thresholds.
//
//   TrendWatch watch(&plan);
//   for (const auto& row : rows) watch.Add(row);
//   for (const HealthFinding& finding : watch.Findings()) …
#ifndef WHETSTONE_COORDINATOR_REPORT_TREND_HEALTH_H_
#define WHETSTONE_COORDINATOR_REPORT_TREND_HEALTH_H_

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/report/health_finding.h"

namespace whetstone {

// Its memory does not grow with the steps. It is not thread-safe.
class TrendWatch {
 public:
  // `plan` is borrowed for the watch's life.
  explicit TrendWatch(const CampaignPlan* plan);

  // Takes the row (step_row.h) of the next GRPO step. A key that it has not is not looked at.
  void Add(const std::map<std::string, double>& row);
  // Returns all that is wrong now; nothing of a policy that is frozen.
  std::vector<HealthFinding> Findings() const;

 private:
  // What counts of a step; NaN: it did not say. A step that taught nothing says nothing of the
  // policy.
  struct Step {
    double reward = 0;
    double log_best = 0;  // sum over the problems of the best programs' ln speedup
    double entropy = 0;
    double kl = 0;
    double logp_difference = 0;
  };
  // A mean and its standard error.
  struct Window {
    double mean = 0;
    double error = 0;
  };

  // Of two values or more; NaN if one of them is.
  static Window Over(const std::vector<double>& values);
  // Of the newest short_ steps; NaN if one of them did not say.
  Window Newest(double Step::*value) const;
  void AddReward(std::vector<HealthFinding>* findings) const;
  void AddPolicy(std::vector<HealthFinding>* findings) const;

  const CampaignPlan* plan_;
  // kHealthSteps and kFlatSteps, in whole turns of the problems.
  size_t short_ = 1;
  size_t long_ = 1;
  std::deque<Step> steps_;      // the newest, twice long_ at most
  std::optional<Window> best_;  // the highest reward of short_ steps
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_TREND_HEALTH_H_
