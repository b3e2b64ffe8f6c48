#include "coordinator/durable/candidate_reward.h"

#include <cstddef>
#include <string>
#include <utility>

#include "coordinator/durable/reward.h"

namespace whetstone {
namespace {

// Says whether a wrong program of `step` is paid for the cases that it gets right.
bool PaysPartialCredit(const CampaignPlan& plan, const DurableState& durable, int64_t step,
                       const std::string& problem_id) {
  const std::string& when = plan.campaign.reward().partial_credit();
  if (when == "never") return false;
  return when != "until_correct" || !durable.RightBefore(step, problem_id);
}

}  // namespace

VerdictEntry RewardVerdict(const CampaignPlan& plan, const DurableState& durable,
                           const RolloutKey& rollout, v1::Verdict verdict,
                           const v1::Calibration* calibration) {
  const auto& [step, group_index, sample] = rollout;
  verdict.set_candidate_id(plan.CandidateId(step, group_index, sample));
  verdict.set_problem_hash(plan.ProblemOf(step, group_index).hash);
  v1::RewardConfig config = plan.campaign.reward();
  if (!PaysPartialCredit(plan, durable, step, plan.ProblemOf(step, group_index).problem.id())) {
    config.set_wrong_slope(0);
  }
  Reward reward =
      RewardOf(verdict, config, calibration == nullptr ? 0 : calibration->expert().speedup(),
               calibration == nullptr ? 0 : calibration->noise_band());
  if (!reward.dropped) {
    const GroupRecord& record = durable.FindStep(step)->groups[static_cast<size_t>(group_index)];
    reward.value -=
        OverlongPenalty(config, TokenCount(*record.samples[static_cast<size_t>(sample)].completion),
                        plan.CampaignAt(step).generate().max_new_tokens());
  }
  verdict.set_reward_error(reward.error);
  // The journal's database has no -0.0, and what is learned from is what it gives back.
  return {step, group_index, sample, std::move(verdict), reward.value + 0.0, reward.dropped};
}

}  // namespace whetstone
