// Tests get a small campaign here: two problems, "a" and "b", those that `eval.problems` names, and
// a plan that needs no file.
#ifndef WHETSTONE_COORDINATOR_DURABLE_CAMPAIGN_PLAN_TESTING_H_
#define WHETSTONE_COORDINATOR_DURABLE_CAMPAIGN_PLAN_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/durable/campaign_plan.h"

namespace whetstone {

struct TestPlanOptions {
  int64_t steps = 6;
  int64_t warmup = 3;
  int group_size = 4;
  int prompts_per_step = 2;
  std::vector<std::string> sets = {};  // as --set
};

// It saves after every second step, to "/ckpt".
CampaignPlan MakeTestPlan(const TestPlanOptions& options);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_CAMPAIGN_PLAN_TESTING_H_
