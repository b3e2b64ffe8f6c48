#include "coordinator/report/run_summary.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/eval_row.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/journal/pause_file.h"
#include "coordinator/report/learning_health.h"
#include "coordinator/report/machine_health.h"
#include "coordinator/report/measuring_health.h"
#include "coordinator/report/verdict_json.h"

namespace whetstone {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// So many steps at either end are compared at most.
constexpr size_t kEndsMax = 3;

double Mean(const std::vector<double>& values, size_t begin, size_t end) {
  if (begin >= end) return kNaN;
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += values[i];
  return sum / static_cast<double>(end - begin);
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

absl::Status AddWhatFoundNothing(const CampaignPlan& plan, const Journal& journal,
                                 RunSummary* summary) {
  if (summary->incumbents.size() == plan.learned().size()) return absl::OkStatus();
  Attempts attempts;
  RETURN_IF_ERROR(journal.ForEachNewestVerdict(
      std::numeric_limits<int64_t>::max(), [&](const VerdictEntry& entry) {
        if (IsEvaluation(entry.step)) return;
        const std::string& id = plan.ProblemOf(entry.step, entry.group_index).problem.id();
        if (summary->incumbents.count(id) == 0) attempts.Add(id, entry.verdict);
      }));
  if (!attempts.problems.empty()) {
    summary->health.insert(summary->health.begin(), NothingFaster(plan, attempts));
  }
  return absl::OkStatus();
}

// Adds what does not follow from the steps' rows.
absl::Status AddOtherHealth(const RunPaths& paths, const Journal& journal, RunSummary* summary) {
  const bool goes_on = summary->owner && summary->owner->claim.empty() && !summary->paused_since;
  ASSIGN_OR_RETURN(const std::vector<HealthFinding> found,
                   summary->done() ? MeasuringHealth(journal)
                                   : OtherHealth(paths, journal, summary->checkpoints,
                                                 goes_on ? std::optional(LongestStep(summary->rows))
                                                         : std::nullopt));
  summary->health.insert(summary->health.end(), found.begin(), found.end());
  return absl::OkStatus();
}

}  // namespace

const char* RunSummary::state() const {
  if (done()) return "done";
  if (!owner) return "stopped";
  if (!owner->claim.empty()) return "unknown";
  return paused_since ? "paused" : "running";
}

std::vector<double> RunSummary::Series(const std::string& key) const {
  std::vector<double> values;
  for (const auto& row : rows) values.push_back(ValueAt(row, key));
  return values;
}

size_t RunSummary::EndSteps() const {
  return std::min(rows.size(), std::clamp<size_t>(rows.size() / 2, 1, kEndsMax));
}

double RunSummary::RewardFirst() const { return Mean(Series("reward"), 0, EndSteps()); }

double RunSummary::RewardLast() const {
  return Mean(Series("reward"), rows.size() - EndSteps(), rows.size());
}

absl::StatusOr<RunSummary> SummarizeRun(const CampaignPlan& plan, const RunPaths& paths,
                                        const Journal& journal) {
  RunSummary summary;
  ASSIGN_OR_RETURN(const DurableState durable, journal.Restore(plan));
  RETURN_IF_ERROR(journal.ForEachRow([&](const MetricsRow& row) {
    if (plan.PositionOf(row.name) > durable.position()) return;  // it came after the state was read
    if (row.name.phase() == v1::UpdateName::EVAL) {
      summary.eval_rows[row.name.step()] = row.values;
      return;
    }
    const bool warm = row.name.phase() == v1::UpdateName::WARMUP;
    (warm ? summary.warmup_rows : summary.rows).push_back(row.values);
  }));
  summary.run_dir = paths.root();
  summary.name = plan.campaign.name();
  summary.origin = journal.Fact("origin");
  summary.warmup_total = plan.warmup_updates();
  summary.steps_total = plan.campaign.train().steps();
  summary.warmup_done = std::min(durable.position(), summary.warmup_total);
  summary.steps_done = durable.position() - summary.warmup_done;
  if (!durable.open_steps().empty()) {
    const StepRecord& next = durable.open_steps().front();
    summary.evaluating = IsEvaluation(next.step);
    summary.step_rollouts = next.rollouts;
    summary.step_verdicts = next.verdicts;
    summary.rollouts_per_step =
        static_cast<int>(next.groups.size() * next.groups[0].samples.size());
  }
  // That may have been changed in the course of the run.
  bool refills = plan.campaign.train().dynamic_sampling().max_refills() > 0;
  for (const FormerCampaign& before : plan.former) {
    refills = refills || before.campaign.train().dynamic_sampling().max_refills() > 0;
  }
  if (refills) summary.reward_note = " before refills";
  summary.rollouts = durable.rollouts();
  for (const auto& [outcome, count] : durable.verdicts()) {
    summary.verdicts += count;
    summary.outcomes[v1::Outcome_Name(static_cast<v1::Outcome>(outcome))] = count;
  }
  summary.incumbents = durable.incumbents();
  summary.checkpoints = durable.checkpoints();
  ASSIGN_OR_RETURN(summary.changes, journal.Changes());
  summary.health = LearningHealth(plan, summary.rows);
  for (const PlannedProblem& problem : plan.problems) {
    for (const auto& [key, calibration] : durable.calibrations()) {
      if (key.second == problem.hash && calibration.expert().speedup() > 0) {
        summary.expert_speedup[problem.problem.id()] = calibration.expert().speedup();
      }
    }
  }
  summary.owner = RunDir::Owner(paths);
  if (summary.owner) summary.paused_since = ReadPauseFile(paths.paused());
  RETURN_IF_ERROR(AddOtherHealth(paths, journal, &summary));
  // A run that goes on may still find something.
  if (summary.steps_done > 0 && (summary.done() || !summary.owner)) {
    RETURN_IF_ERROR(AddWhatFoundNothing(plan, journal, &summary));
  }
  return summary;
}

absl::StatusOr<RunSummary> SummarizeRun(const RunPaths& paths, CampaignPlan* plan) {
  ASSIGN_OR_RETURN(OpenedRun run, OpenRun(paths, /*read_only=*/true));
  *plan = std::move(run.plan);
  return SummarizeRun(*plan, paths, *run.journal);
}

absl::StatusOr<std::map<std::string, IncumbentEntry>> IncumbentsOf(const RunSummary& summary,
                                                                   const std::string& problem) {
  if (problem.empty()) return summary.incumbents;
  const auto found = summary.incumbents.find(problem);
  if (found != summary.incumbents.end()) return std::map<std::string, IncumbentEntry>{*found};
  std::vector<std::string> known;
  for (const auto& [id, incumbent] : summary.incumbents) known.push_back(id);
  return absl::NotFoundError(absl::StrCat("no program of '", problem, "' in ", summary.run_dir,
                                          DidYouMean(problem, known)));
}

double ValueAt(const std::map<std::string, double>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? kNaN : found->second;
}

std::string RewardText(const RunSummary& s) {
  if (s.rows.size() < 2) return absl::StrFormat("%.3f (one step)", s.RewardLast());
  const size_t ends = s.EndSteps();
  return absl::StrFormat("%.3f (first %s) → %.3f (last%s)", s.RewardFirst(),
                         ends == 1 ? "step" : absl::StrCat(ends, " steps"), s.RewardLast(),
                         ends == 1 ? "" : absl::StrCat(" ", ends));
}

std::string EvaluationText(const RunSummary& s) {
  const auto text = [](const auto& row) {
    return absl::StrCat(EvalText(row.second), " (step ", row.first, ")");
  };
  const std::string last = text(*s.eval_rows.rbegin());
  return s.eval_rows.size() == 1 ? last : absl::StrCat(text(*s.eval_rows.begin()), " → ", last);
}

std::string ChangeLine(const RecordedChange& change) {
  return absl::StrCat(ChangeText(change.change), " (",
                      TimeText(absl::FromUnixMicros(change.time_us)), ")");
}

std::string SummaryText(const RunSummary& s) {
  std::string text = absl::StrCat(s.name, ": ");
  if (s.done()) {
    text += "done";
  } else if (s.owner) {
    absl::StrAppend(
        &text, s.owner->claim.empty() ? "" : "may be ",
        s.paused_since ? absl::StrCat("paused since ", TimeText(*s.paused_since)) : "running", " (",
        s.owner->text(), s.owner->doubt(), ")");
  } else {
    text += "stopped";
  }
  if (s.warmup_total > 0) {
    absl::StrAppend(&text, ", warm-up ", s.warmup_done, "/", s.warmup_total);
  }
  absl::StrAppend(&text, ", steps ", s.steps_done, "/", s.steps_total);
  if (!s.done() && s.step_rollouts > 0) {
    absl::StrAppend(&text, s.evaluating ? " (evaluation: " : " (next: ", s.step_rollouts, "/",
                    s.rollouts_per_step, " completions, ", s.step_verdicts, " verdicts)");
  }
  for (const RecordedChange& change : s.changes) {
    absl::StrAppend(&text, "\n", ChangeLine(change));
  }
  if (!s.origin.empty()) absl::StrAppend(&text, "\n", s.origin);
  if (!s.rows.empty()) {
    absl::StrAppend(&text, "\nreward", s.reward_note, " ", RewardText(s));
  }
  if (!s.eval_rows.empty()) absl::StrAppend(&text, "\nevaluation ", EvaluationText(s));
  for (const auto& [id, incumbent] : s.incumbents) {
    absl::StrAppend(&text, absl::StrFormat("\nbest %s: %.2fx", id, incumbent.verdict.speedup()));
    const auto expert = s.expert_speedup.find(id);
    if (expert != s.expert_speedup.end()) {
      absl::StrAppend(&text, absl::StrFormat(" (expert %.2fx)", expert->second));
    }
    absl::StrAppend(&text, "  ", RunPaths(s.run_dir).best(id));
  }
  if (!s.checkpoints.empty()) {
    absl::StrAppend(&text, "\nweights: ", s.checkpoints.back().path);
  }
  for (const HealthFinding& finding : s.health) {
    absl::StrAppend(&text, "\n! ", finding.what, ": ", finding.advice);
  }
  return text;
}

nlohmann::ordered_json SummaryJson(const RunSummary& s) {
  nlohmann::ordered_json json = {
      {"run_dir", s.run_dir},
      {"name", s.name},
      {"origin",
       s.origin.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(s.origin)},
      {"state", s.state()},
      {"pid", s.owner ? s.owner->pid : 0},
      {"host", s.owner ? s.owner->host : ""},
      {"paused_since_us", s.paused_since
                              ? nlohmann::ordered_json(absl::ToUnixMicros(*s.paused_since))
                              : nlohmann::ordered_json(nullptr)},
      {"warmup_done", s.warmup_done},
      {"warmup_total", s.warmup_total},
      {"steps_done", s.steps_done},
      {"steps_total", s.steps_total},
      {"rollouts", s.rollouts},
      {"verdicts", s.verdicts},
      {"outcomes", s.outcomes},
      {"evaluating", s.evaluating},
      {"step_rollouts", s.step_rollouts},
      {"step_verdicts", s.step_verdicts},
      {"reward_first", NumberOrNull(s.rows.empty() ? kNaN : s.RewardFirst())},
      {"reward_last", NumberOrNull(s.rows.empty() ? kNaN : s.RewardLast())},
  };
  nlohmann::ordered_json best = nlohmann::ordered_json::object();
  for (const auto& [id, incumbent] : s.incumbents) best[id] = incumbent.verdict.speedup();
  json["best"] = best;
  json["evaluations"] = nlohmann::ordered_json::array();
  for (const auto& [step, row] : s.eval_rows) {
    nlohmann::ordered_json evaluation = {{"step", step}};
    for (const auto& [key, value] : row) evaluation[key] = NumberOrNull(value);
    json["evaluations"].push_back(std::move(evaluation));
  }
  json["checkpoint"] = s.checkpoints.empty() ? nlohmann::ordered_json(nullptr)
                                             : nlohmann::ordered_json(s.checkpoints.back().path);
  json["changes"] = nlohmann::ordered_json::array();
  for (const auto& [change, time_us] : s.changes) {
    json["changes"].push_back({{"step", change.step},
                               {"key", change.key},
                               {"before", change.before},
                               {"after", change.after},
                               {"time_us", time_us}});
  }
  json["health"] = nlohmann::ordered_json::array();
  for (const HealthFinding& finding : s.health) {
    json["health"].push_back(
        {{"kind", finding.kind}, {"what", finding.what}, {"advice", finding.advice}});
  }
  return json;
}

std::string RewardCurve(const RunSummary& summary) {
  constexpr double kLow = -1;
  constexpr double kHigh = 1.5;
  constexpr int kWidth = 50;
  std::string text;
  const std::vector<double> rewards = summary.Series("reward");
  for (size_t i = 0; i < rewards.size(); ++i) {
    const double share = std::clamp((rewards[i] - kLow) / (kHigh - kLow), 0.0, 1.0);
    absl::StrAppend(&text, absl::StrFormat("%4d %6.2f ", i + 1, rewards[i]));
    for (int c = 0; c < static_cast<int>(share * kWidth + 0.5); ++c) text += "█";
    text += "\n";
  }
  return text;
}

}  // namespace whetstone
