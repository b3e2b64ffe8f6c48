#include "coordinator/durable/candidate_reward.h"

#include <cstddef>
#include <utility>

#include "coordinator/durable/reward.h"

namespace whetstone {

VerdictEntry RewardVerdict(const CampaignPlan& plan, const DurableState& durable,
                           const RolloutKey& rollout, v1::Verdict verdict,
                           const v1::Calibration* calibration) {
  const auto& [step, group_index, sample] = rollout;
  verdict.set_candidate_id(plan.CandidateId(step, group_index, sample));
  verdict.set_problem_hash(plan.ProblemOf(step, group_index).hash);
  const v1::RewardConfig& config = plan.campaign.reward();
  Reward reward =
      RewardOf(verdict, config, calibration == nullptr ? 0 : calibration->expert().speedup(),
               calibration == nullptr ? 0 : calibration->noise_band());
  if (!reward.dropped) {
    const GroupRecord& record = durable.FindStep(step)->groups[static_cast<size_t>(group_index)];
    reward.value -=
        OverlongPenalty(config, record.samples[static_cast<size_t>(sample)].completion->ids_size(),
                        plan.campaign.generate().max_new_tokens());
  }
  // The journal's database has no -0.0, and what is learned from is what it gives back.
  return {step, group_index, sample, std::move(verdict), reward.value + 0.0, reward.dropped};
}

}  // namespace whetstone
