// A problem's best program, its incumbent, changes so: once every verdict of a step is in, the
// fastest candidate that seems faster than the incumbent is a challenger. It is measured again in
// fresh processes, and that verdict decides. The functions are pure.
//
//   for (const Challenger& c : FindChallengers(plan, durable)) MeasureAfresh(c);
//   IncumbentEntry entry = JudgeChallenger(plan, durable, challenger, verdict);
#ifndef WHETSTONE_COORDINATOR_DURABLE_CHALLENGERS_H_
#define WHETSTONE_COORDINATOR_DURABLE_CHALLENGERS_H_

#include <string>
#include <vector>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/journal_entry.h"

namespace whetstone {

struct Challenger {
  int group_index = 0;
  int sample = 0;
  std::string source;
};

// Returns the challengers of the step whose update is next: at most one of each problem, by problem
// id. Those that were judged already are left out. Every verdict of the step must be there.
std::vector<Challenger> FindChallengers(const CampaignPlan& plan, const DurableState& durable);

// `verdict` is that of the fresh measurement in step `step`. It is accepted if it is right,
// certainly faster than the reference, and faster than the incumbent.
IncumbentEntry JudgeChallenger(const CampaignPlan& plan, const DurableState& durable, int64_t step,
                               const Challenger& challenger, const v1::Verdict& verdict);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_CHALLENGERS_H_
