#include "coordinator/durable/step_record.h"

#include <algorithm>
#include <cmath>

#include "common/reward_noise.h"

namespace whetstone {

bool ClearlyFaster(const v1::Verdict& verdict, double bar) {
  // The least that is worth measuring again, in logarithm.
  constexpr double kMarginMin = 0.01;
  return verdict.outcome() == v1::CORRECT &&
         std::log(verdict.speedup() / bar) > std::max(verdict.noise_band(), kMarginMin);
}

double GroupRecord::NoiseShare(const std::vector<v1::Rollout>& imitated) const {
  std::vector<MeasuredReward> rewards;
  for (const CandidateRecord& record : samples) {
    if (record.verdict->dropped) continue;
    rewards.push_back({record.verdict->reward, record.verdict->verdict.reward_error()});
  }
  for (const v1::Rollout& r : imitated) rewards.push_back({r.reward(), r.reward_error()});
  return whetstone::NoiseShare(rewards);
}

StepRecord::StepRecord(int64_t step, int groups, int group_size)
    : step(step), groups(static_cast<size_t>(groups)) {
  for (GroupRecord& group : this->groups) group.samples.resize(static_cast<size_t>(group_size));
}

bool StepRecord::HasRollouts(size_t count) const {
  const int wanted = static_cast<int>(count);
  return prompts >= wanted && rollouts >= wanted * group_size();
}

bool StepRecord::HasAllVerdicts() const {
  return verdicts == static_cast<int>(groups.size()) * group_size();
}

bool StepRecord::Sampling() const {
  return rollouts > static_cast<int>(round_begin) * group_size() && !HasAllRollouts();
}

void StepRecord::Refill(int count) {
  ++refills;
  round_begin = groups.size();
  const size_t samples = groups[0].samples.size();
  groups.resize(groups.size() + static_cast<size_t>(count));
  for (size_t g = round_begin; g < groups.size(); ++g) groups[g].samples.resize(samples);
}

int StepRecord::Informative() const {
  return static_cast<int>(std::count_if(
      groups.begin(), groups.end(), [](const GroupRecord& group) { return group.HasSpread(); }));
}

}  // namespace whetstone
