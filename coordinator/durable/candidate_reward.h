// This is the one way from a rollout's verdict to what is journaled and learned from: the
// campaign's reward for it (reward.h), with or without partial credit (reward.partial_credit), less
// what its length costs. The function is pure, and does not depend on which of a step's verdicts
// came first.
//
//   VerdictEntry entry = RewardVerdict(plan, durable, {.step = 12, .group_index = 0, .sample = 3},
//                                      verdict, calibration);
#ifndef WHETSTONE_COORDINATOR_DURABLE_CANDIDATE_REWARD_H_
#define WHETSTONE_COORDINATOR_DURABLE_CANDIDATE_REWARD_H_

#include <cstdint>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/journal_entry.h"

namespace whetstone {

// A RolloutKey says which rollout of a campaign it is.
struct RolloutKey {
  int64_t step = 0;  // from 1
  int group_index = 0;
  int sample = 0;
};

// The rollout is of an open step, and its completion is there. `calibration` is of the host that
// measured; null if none is known. The entry's verdict carries this rollout's candidate id and
// problem.
VerdictEntry RewardVerdict(const CampaignPlan& plan, const DurableState& durable,
                           const RolloutKey& rollout, v1::Verdict verdict,
                           const v1::Calibration* calibration);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_CANDIDATE_REWARD_H_
