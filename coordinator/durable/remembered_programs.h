// The best programs of each problem so far are remembered as they were sampled, and learned from
// again while the policy does not write them (train.imitation; docs/losses.md, "Self-imitation").
// Which ones follows from the verdicts of the steps whose update is done, whatever order they came
// in.
//
//   Remember(plan, step, &memory);   // with each update
//   for (v1::Rollout& rollout : ImitatedRollouts(plan, memory, step, group)) …   // of the next
//   ones
//
// The functions are pure.
#ifndef WHETSTONE_COORDINATOR_DURABLE_REMEMBERED_PROGRAMS_H_
#define WHETSTONE_COORDINATOR_DURABLE_REMEMBERED_PROGRAMS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/step_record.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct RememberedProgram {
  int64_t step = 0;
  int group_index = 0;
  std::string hash;  // what makes it another program than the others
  double speedup = 0;
  v1::Rollout rollout;  // with the reward that it earned
};

// By problem id; the fastest first, of equally fast ones the oldest.
using ProgramMemory = std::map<std::string, std::vector<RememberedProgram>>;

// Says which program it is: by its canonical source, or by its text where the worker told none. The
// verdict must be there.
std::string ProgramHash(const CandidateRecord& record);

// Adds what `step` found that is fast enough and new, as far as there is room. A program that is
// known already stays as it was first sampled and measured. What was sampled under another prompt,
// which shows a parent, is no answer to this one.
void Remember(const CampaignPlan& plan, const StepRecord& step, ProgramMemory* memory);

// Returns what the group is to learn beside its own rollouts: remembered programs of its problem
// that earned more than the mean of the group, and that the group does not have itself. None if no
// rollout of the group is kept, or the group has a parent. The group's verdicts must be there.
std::vector<v1::Rollout> ImitatedRollouts(const CampaignPlan& plan, const ProgramMemory& memory,
                                          const StepRecord& step, int group_index);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_REMEMBERED_PROGRAMS_H_
