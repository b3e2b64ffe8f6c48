#include "coordinator/report/rescore.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/reward_noise.h"
#include "common/status_macros.h"
#include "coordinator/durable/candidate_reward.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/report/outcome_names.h"

namespace whetstone {
namespace {

struct RewardPair {
  MeasuredReward recorded, rescored;
};
// These are the rewards of one group that count.
using GroupRewards = std::vector<RewardPair>;

bool Teaches(const GroupRewards& group, MeasuredReward RewardPair::*reward) {
  std::vector<MeasuredReward> rewards;
  for (const RewardPair& pair : group) rewards.push_back(pair.*reward);
  return NoiseShare(rewards) < 1;
}

// Returns the calibration of the host that measured, or of any other if that one is not known.
const v1::Calibration* CalibrationOf(const DurableState& durable, const v1::Verdict& verdict) {
  if (const auto* own = durable.FindCalibration(verdict.worker(), verdict.problem_hash())) {
    return own;
  }
  for (const auto& [host_and_problem, calibration] : durable.calibrations()) {
    if (host_and_problem.second == verdict.problem_hash()) return &calibration;
  }
  return nullptr;
}

class Rescorer {
 public:
  Rescorer(const CampaignPlan& recorded, const CampaignPlan& rescored)
      : rescored_plan_(rescored), durable_(&recorded) {}

  absl::Status Take(const JournalEntry& entry) {
    RETURN_IF_ERROR(durable_.Check(entry));
    if (const auto* verdict = std::get_if<VerdictEntry>(&entry)) Take(*verdict);
    // The rewards of the journal decide what was sampled next, so these are what is folded.
    durable_.Apply(entry);
    return absl::OkStatus();
  }

  Rescored Finish() {
    for (const auto& [step_and_group, group] : groups_) CountGroup(step_and_group.first, group);
    Rescored result = std::move(result_);
    for (auto& [number, step] : steps_) result.steps.push_back(step);
    return result;
  }

 private:
  void Take(const VerdictEntry& entry) {
    const VerdictEntry again =
        RewardVerdict(rescored_plan_, durable_, {entry.step, entry.group_index, entry.sample},
                      entry.verdict, CalibrationOf(durable_, entry.verdict));
    if (entry.dropped || again.dropped || IsEvaluation(entry.step)) return;
    RescoredStep& step = steps_[entry.step];
    step.step = entry.step;
    for (RewardTally* tally : {&step.rewards, &result_.outcomes[entry.verdict.outcome()]}) {
      ++tally->rollouts;
      tally->recorded += entry.reward;
      tally->rescored += again.reward;
    }
    groups_[{entry.step, entry.group_index}].push_back(
        {{entry.reward, entry.verdict.reward_error()},
         {again.reward, again.verdict.reward_error()}});
  }

  void CountGroup(int64_t number, const GroupRewards& group) {
    RescoredStep& step = steps_[number];
    ++step.groups;
    step.teaching_recorded += Teaches(group, &RewardPair::recorded) ? 1 : 0;
    step.teaching_rescored += Teaches(group, &RewardPair::rescored) ? 1 : 0;
    for (auto a = group.begin(); a != group.end(); ++a) {
      for (auto b = std::next(a); b != group.end(); ++b) {
        const double before = a->recorded.value - b->recorded.value;
        const double after = a->rescored.value - b->rescored.value;
        if (before == 0 || after == 0) continue;
        ++result_.pairs;
        result_.turned += (before < 0) != (after < 0) ? 1 : 0;
      }
    }
  }

  const CampaignPlan& rescored_plan_;
  DurableState durable_;
  std::map<int64_t, RescoredStep> steps_;
  std::map<std::pair<int64_t, int>, GroupRewards> groups_;
  Rescored result_;
};

double MeanOf(double sum, int64_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

// A line of the table: a name, a count, the two means.
std::string TallyLine(const std::string& name, const RewardTally& tally) {
  return absl::StrFormat("%-18s %9d %10.3f %10.3f\n", name, tally.rollouts,
                         MeanOf(tally.recorded, tally.rollouts),
                         MeanOf(tally.rescored, tally.rollouts));
}

nlohmann::ordered_json TallyJson(const RewardTally& tally) {
  return {{"rollouts", tally.rollouts},
          {"recorded", MeanOf(tally.recorded, tally.rollouts)},
          {"rescored", MeanOf(tally.rescored, tally.rollouts)}};
}

struct Totals {
  RewardTally rewards;
  int groups = 0, teaching_recorded = 0, teaching_rescored = 0;
};

Totals TotalsOf(const std::vector<RescoredStep>& steps) {
  Totals totals;
  for (const RescoredStep& step : steps) {
    totals.rewards.rollouts += step.rewards.rollouts;
    totals.rewards.recorded += step.rewards.recorded;
    totals.rewards.rescored += step.rewards.rescored;
    totals.groups += step.groups;
    totals.teaching_recorded += step.teaching_recorded;
    totals.teaching_rescored += step.teaching_rescored;
  }
  return totals;
}

}  // namespace

absl::StatusOr<Rescored> Rescore(const CampaignPlan& recorded, const CampaignPlan& rescored,
                                 const Journal& journal) {
  Rescorer rescorer(recorded, rescored);
  RETURN_IF_ERROR(journal.ForEach([&](const JournalEntry& entry) { return rescorer.Take(entry); }));
  return rescorer.Finish();
}

std::string RescoredText(const Rescored& rescored) {
  const Totals totals = TotalsOf(rescored.steps);
  if (totals.rewards.rollouts == 0) return "no rollout of this run has a verdict yet";
  std::string text =
      absl::StrFormat("%-18s %9s %10s %10s\n", "mean reward", "rollouts", "recorded", "rescored");
  for (const OutcomeName& outcome : kOutcomeNames) {
    const auto tally = rescored.outcomes.find(outcome.outcome);
    if (tally != rescored.outcomes.end()) text += TallyLine(outcome.name, tally->second);
  }
  absl::StrAppend(
      &text, TallyLine("all", totals.rewards),
      TallyLine(absl::StrCat("step ", rescored.steps.front().step), rescored.steps.front().rewards),
      TallyLine(absl::StrCat("step ", rescored.steps.back().step), rescored.steps.back().rewards));
  absl::StrAppendFormat(&text,
                        "groups that teach, of %d: %d as recorded, %d rescored\n"
                        "pairs of a group whose order turns: %d of %d",
                        totals.groups, totals.teaching_recorded, totals.teaching_rescored,
                        rescored.turned, rescored.pairs);
  return text;
}

nlohmann::ordered_json RescoredJson(const Rescored& rescored) {
  const Totals totals = TotalsOf(rescored.steps);
  nlohmann::ordered_json json = {{"all", TallyJson(totals.rewards)},
                                 {"groups", totals.groups},
                                 {"groups_teaching_recorded", totals.teaching_recorded},
                                 {"groups_teaching_rescored", totals.teaching_rescored},
                                 {"pairs", rescored.pairs},
                                 {"pairs_turned", rescored.turned}};
  for (const OutcomeName& outcome : kOutcomeNames) {
    const auto tally = rescored.outcomes.find(outcome.outcome);
    if (tally == rescored.outcomes.end()) continue;
    json["outcomes"][outcome.name] = TallyJson(tally->second);
  }
  for (const RescoredStep& step : rescored.steps) {
    nlohmann::ordered_json row = {{"step", step.step}};
    row.update(TallyJson(step.rewards));
    row["groups"] = step.groups;
    row["groups_teaching_recorded"] = step.teaching_recorded;
    row["groups_teaching_rescored"] = step.teaching_rescored;
    json["steps"].push_back(std::move(row));
  }
  return json;
}

}  // namespace whetstone
