// What the world asks of every batch that is to be learned from, and what its operator changes.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/reward_noise.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/config/setting_changes.h"

namespace whetstone {

// Whatever was lost on the way, groups are learned from as a whole, and the rollouts of each are of
// one policy (were some resampled by a newer one, it would be those that take long), which is not
// too old.
void World::CheckBatch(const v1::UpdateRequest& request) {
  if (!request.has_grpo()) return;
  const v1::TrainConfig& train = plan_.CampaignAt(request.name().step()).train();
  std::set<int> learned;
  std::map<int, std::vector<MeasuredReward>> imitating;
  for (const v1::RolloutGroup& group : request.grpo().groups()) {
    learned.insert(group.group_index());
    std::set<int64_t> policies;
    int imitated = 0;
    for (const v1::Rollout& rollout : group.rollouts()) {
      if (rollout.ids_size() != 1) Break("it learns from an evaluation");
      if (!rollout.imitated()) {
        policies.insert(rollout.ids(0) / static_cast<int64_t>(kKinds));
        continue;
      }
      imitating[group.group_index()].push_back({rollout.reward(), rollout.reward_error()});
      ++imitated;
    }
    imitated_ += imitated;
    if (group.rollouts_size() - imitated != train.group_size()) Break("a group is not whole");
    if (imitated > train.imitation().size()) Break("too much is imitated");
    if (policies.size() != 1) return Break("a group's rollouts are of several policies");
    const int64_t staleness = static_cast<int64_t>(policy_.updates.size()) - *policies.begin();
    stalest_ = std::max(stalest_, staleness);
    if (staleness < 0 || staleness > train.max_staleness()) {
      Break(absl::StrCat("rollouts that are ", staleness, " updates old"));
    }
  }
  int rollouts = 0, lost = 0;
  for (const JournalEntry& entry : journal_) {
    const auto* verdict = std::get_if<VerdictEntry>(&entry);
    if (verdict == nullptr || verdict->step != request.name().step()) continue;
    ++rollouts;
    // What ended workers, or failed while others were measured, may be as many as it likes.
    lost += verdict->dropped && !absl::StrContains(verdict->verdict.detail(), "while") ? 1 : 0;
  }
  if (2 * lost > rollouts) Break(absl::StrCat(lost, " of ", rollouts, " rollouts are lost"));
  const size_t wanted = static_cast<size_t>(options_.prompts_per_step);
  const size_t refills_max = static_cast<size_t>(train.dynamic_sampling().max_refills());
  if (refills_max == 0) {
    if (learned.size() != wanted) Break("a step is not whole");
    return;
  }
  // Each group that was sampled has an entry, which holds its rewards.
  std::map<int, std::vector<MeasuredReward>> rewards;
  for (const JournalEntry& entry : journal_) {
    const auto* verdict = std::get_if<VerdictEntry>(&entry);
    if (verdict == nullptr || verdict->step != request.name().step()) continue;
    std::vector<MeasuredReward>& kept = rewards[verdict->group_index];
    if (!verdict->dropped) kept.push_back({verdict->reward, verdict->verdict.reward_error()});
  }
  const size_t sampled = rewards.size();
  refilled_ += sampled > wanted ? 1 : 0;
  size_t informative = 0;
  std::set<int> teaching;
  for (auto& [group, kept] : rewards) {
    informative += NoiseShare(kept) < 1 ? 1 : 0;
    kept.insert(kept.end(), imitating[group].begin(), imitating[group].end());
    const double noise = NoiseShare(kept);
    // A spread of which most is noise may be all noise beside what was imitated, which isn't seen
    // here of a group that isn't learned from (seed 5372).
    const bool hardly = noise > 0.5 && train.imitation().size() > 0 && !learned.contains(group);
    if (noise < 1 && !hardly) teaching.insert(group);
  }
  if (learned != teaching) Break("not the groups with spread are learned from");
  if (informative > wanted || sampled > wanted * (1 + refills_max)) Break("too many groups");
  if (informative < wanted && sampled < wanted + refills_max) Break("too few refills");
}

void World::ChangeSettings() {
  DurableState durable(&plan_);
  for (const JournalEntry& entry : journal_) durable.Apply(entry);
  const v1::Campaign changed = *ChangedCampaign(plan_.campaign, options_.changes);
  const int64_t step = durable.FirstUntouchedStep();
  if (changed.train().steps() < step) return;
  for (const SettingChange& change : SettingChanges(plan_.campaign, changed)) {
    journal_.push_back(ChangeEntry{step, change.key, change.before, change.after});
  }
  plan_.former.push_back({step, std::exchange(plan_.campaign, changed)});
}

}  // namespace whetstone
