// Each update has one row of metrics.jsonl, and a line of the console for it. Names follow TRL
// where TRL has one.
#ifndef WHETSTONE_COORDINATOR_DURABLE_STEP_ROW_H_
#define WHETSTONE_COORDINATOR_DURABLE_STEP_ROW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/seconds.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// The times are those from one update to the next, by what the campaign was doing: wall seconds;
// overlaps count in each. With train.max_staleness what is generated then may be a later step's.
struct StepTimes {
  Seconds generate = 0;
  Seconds measure = 0;        // at least one measurement in flight
  Seconds wait_verdicts = 0;  // nothing but measurements in flight: the trainer idles
  Seconds update = 0;
  Seconds checkpoint = 0;  // saving the policy, removing old ones
  // What comes before the work: services start, the trainer loads a policy and repeats updates that
  // it lost, workers calibrate problems while nothing else goes on.
  Seconds prepare = 0;
  Seconds wait_services = 0;  // nothing in flight: a service that was there is down
  Seconds step = 0;
  int64_t generated_tokens = 0;
  Seconds slots_busy = 0;          // measuring: of all slots together
  int slots = 0;                   // of the workers that are there
  bool slots_share_cores = false;  // with the trainer: some can't time while it computes
};

// Returns the row of the update that `request` asked for; `durable` still holds its step. Keys are
// lr, time/*, perf/* and whatever the trainer reports; for GRPO reward, reward_std,
// frac_reward_zero_std (groups whose rewards are equal, or no further apart than their errors),
// reward_noise_share (what of the variance of normalised advantages is error of measurement, after
// they were shrunk by it; where any group has spread), completions/*, outcome/* (shares),
// speedup/*, problem/ID/reward; measure/slots, and measure/slots_needed for measuring to keep up
// with the trainer: the seconds of slots that verdicts took, by the seconds that the trainer worked
// (not where a worker shares cores with the trainer); with train.max_staleness also staleness, the
// updates between the policy that sampled its oldest rollouts and the one that learns. Rewards
// (reward_learned aside) are over the groups sampled first, completions/* and outcome/* over all of
// the step; with train.dynamic_sampling there are also refills, discarded_groups (of all, those not
// learned from) and reward_learned, over those that are. With `search` search/parents, the share of
// groups that had one, search/better, of those the share with a program clearly faster than it,
// search/repairs and search/repaired, the same of parents that failed and of right programs, and
// search/archived/ID. With a profile of the trainer's there are also profile/wait_rewards_s, and
// profile/communication_s: calls to the trainer in which it did not compute.
std::map<std::string, double> BuildRow(const CampaignPlan& plan, const DurableState& durable,
                                       const v1::UpdateRequest& request,
                                       const v1::UpdateResponse& response, const StepTimes& times);

// Returns "step 12/40  reward  0.43 ±0.81  correct 56 %  best 5.6x  31.2 s (generate 18.0, …)".
std::string RowLine(const CampaignPlan& plan, const v1::UpdateName& name,
                    const std::map<std::string, double>& row);

// Returns what took longest in a profiled step, in one sentence for people: `computing`, which is
// the trainer's own (UpdateResponse.bottleneck), or what kept the trainer waiting if that took
// longer than any part that it computed.
std::string StepBottleneck(const CampaignPlan& plan, const std::map<std::string, double>& row,
                           const std::string& computing);

// Returns "3.25x"; below 0.1 with the digits that tell it from nothing: "0.0042x".
std::string SpeedupText(double speedup);

// Returns {"step": 12, "phase": "grpo", "unix_time": 1790000000.25, …}: one line, no newline.
// `time_us`: when the update was done, microseconds since 1970; left out where nobody knows.
std::string RowJson(const v1::UpdateName& name, std::optional<int64_t> time_us,
                    const std::map<std::string, double>& row);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_STEP_ROW_H_
