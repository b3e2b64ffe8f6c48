// A RunSummary is what a run came to, read from its journal: for the end of `whet run`, for status
// and report.
#ifndef WHETSTONE_COORDINATOR_REPORT_RUN_SUMMARY_H_
#define WHETSTONE_COORDINATOR_REPORT_RUN_SUMMARY_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/report/health_finding.h"

namespace whetstone {

struct RunSummary {
  std::string run_dir;
  std::string name;
  int64_t warmup_done = 0;
  int64_t warmup_total = 0;
  int64_t steps_done = 0;
  int64_t steps_total = 0;
  // Of the whole run, evaluations included; verdicts also by outcome.
  int64_t rollouts = 0;
  int64_t verdicts = 0;
  std::map<std::string, int64_t> outcomes;
  // These four are of the step under way.
  bool evaluating = false;
  int step_rollouts = 0;
  int step_verdicts = 0;
  int rollouts_per_step = 0;
  // The note is " before refills" with train.dynamic_sampling: the mean rewards are of the groups
  // sampled first.
  std::string reward_note;
  std::string origin;  // "a copy of ID" or "a fork of ID at step 20"; empty: it began here
  std::optional<RunOwner> owner;           // the process that runs it now, or may do so
  std::optional<absl::Time> paused_since;  // by that process
  std::vector<std::map<std::string, double>> warmup_rows;
  std::vector<std::map<std::string, double>> rows;  // GRPO, in order
  // Evaluations, in order, by the number of GRPO steps before them.
  std::map<int64_t, std::map<std::string, double>> eval_rows;
  std::map<std::string, IncumbentEntry> incumbents;  // by problem id
  std::map<std::string, double> expert_speedup;      // by problem id; of any host
  std::vector<CheckpointEntry> checkpoints;
  std::vector<RecordedChange> changes;  // of settings, in order
  // Alarms (health_limits.h), and, at the end, where nothing was found.
  std::vector<HealthFinding> health;

  bool done() const {
    return warmup_done == warmup_total && steps_done == steps_total && !evaluating;
  }
  // Returns "done", "running", "paused", "stopped", or "unknown" where a process of another host
  // may have ended unseen.
  const char* state() const;
  std::vector<double> Series(const std::string& key) const;  // missing values as NaN
  // Returns how many steps at either end are compared: up to three, and never one of them at both
  // ends unless there is only one.
  size_t EndSteps() const;
  // These are means over them; NaN without steps.
  double RewardFirst() const;
  double RewardLast() const;
};

absl::StatusOr<RunSummary> SummarizeRun(const CampaignPlan& plan, const RunPaths& paths,
                                        const Journal& journal);
// Does the same for commands that only have the directory, which is only read.
absl::StatusOr<RunSummary> SummarizeRun(const RunPaths& paths, CampaignPlan* plan);

// Returns the value at `key`; NaN where there is none.
double ValueAt(const std::map<std::string, double>& values, const std::string& key);

// Returns "0.100 (first 3 steps) → 0.900 (last 3)", or "0.100 (one step)".
std::string RewardText(const RunSummary& summary);
// Returns the best programs by problem id: all, or only this problem's, which must have one
// (NOT_FOUND names those that do).
absl::StatusOr<std::map<std::string, IncumbentEntry>> IncumbentsOf(const RunSummary& summary,
                                                                   const std::string& problem);

// Returns "from step 21: train.lr 1e-05 -> 2e-06 (2026-07-26 14:03 UTC)".
std::string ChangeLine(const RecordedChange& change);

std::string SummaryText(const RunSummary& summary);
nlohmann::ordered_json SummaryJson(const RunSummary& summary);

// Returns "correct 3%, at least 1.5x 0%, best 1.02x (step 0) → correct 12%, … (step 20)", the first
// evaluation and the last.
// There must be an evaluation.
std::string EvaluationText(const RunSummary& summary);

// Returns the reward of every step as bars, for a terminal.
std::string RewardCurve(const RunSummary& summary);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_RUN_SUMMARY_H_
