#include "coordinator/journal/change_settings.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "coordinator/config/problem_rules.h"
#include "coordinator/config/setting_changes.h"
#include "coordinator/journal/campaign_setup.h"

namespace whetstone {

absl::StatusOr<std::string> ChangeSettings(
    const std::vector<std::string>& sets, OpenedRun* run,
    const std::function<absl::Status(const CampaignPlan& changed)>& check) {
  if (sets.empty()) return "";
  CampaignPlan& plan = run->plan;
  ASSIGN_OR_RETURN(const v1::Campaign changed, ChangedCampaign(plan.campaign, sets));
  const std::vector<SettingChange> changes = SettingChanges(plan.campaign, changed);
  if (changes.empty()) return "";
  ASSIGN_OR_RETURN(const DurableState durable, run->journal->Restore(plan));
  const int64_t step = durable.FirstUntouchedStep();
  const auto late = std::find_if(changes.begin(), changes.end(), [](const SettingChange& change) {
    return RuleOf(change.key)->counts == ChangeCounts::kFromNextStep;
  });
  if (late != changes.end() && changed.train().steps() < step) {
    if (changed.train().steps() < plan.campaign.train().steps()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'train.steps' is ", changed.train().steps(), ", and the next step is ",
                       step, ": give at least that, or leave the run where it is"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "'", late->key, "' counts from the next step on, which is ", step, ", and train.steps is ",
        changed.train().steps(), ": with --set train.steps=", step, " or more there is one"));
  }
  if (!Learns(plan.campaign) && Learns(changed)) {
    // More is asked of the problems of a campaign that learns.
    RETURN_IF_ERROR(BuildPlan(changed, plan.campaign_id, plan.checkpoint_dir).status());
  }
  CampaignPlan next = plan;
  next.former.push_back({step, std::exchange(next.campaign, changed)});
  if (check) RETURN_IF_ERROR(check(next));
  std::vector<JournalEntry> entries;
  for (const SettingChange& change : changes) {
    entries.push_back(ChangeEntry{step, change.key, change.before, change.after});
  }
  RETURN_IF_ERROR(run->journal->Append(entries, UnixMicros()));
  plan = std::move(next);
  return absl::StrCat("from step ", step, ": ", SettingChangesText(changes));
}

absl::Status ApplyChanges(const std::vector<RecordedChange>& changes, CampaignPlan* plan) {
  for (size_t i = 0; i < changes.size();) {
    const int64_t step = changes[i].change.step;
    std::vector<std::string> sets;
    for (; i < changes.size() && changes[i].change.step == step; ++i) {
      sets.push_back(absl::StrCat(changes[i].change.key, "=", changes[i].change.after));
    }
    ASSIGN_OR_RETURN(v1::Campaign changed, WithSettings(plan->campaign, sets));
    plan->former.push_back({step, std::exchange(plan->campaign, std::move(changed))});
  }
  return absl::OkStatus();
}

}  // namespace whetstone
