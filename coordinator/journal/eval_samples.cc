#include "coordinator/journal/eval_samples.h"

#include <cmath>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "common/status_macros.h"

namespace whetstone {

absl::StatusOr<std::vector<EvaluatedSample>> ReadEvaluatedSamples(const OpenedRun& run) {
  using Place = std::tuple<int64_t, int, int>;  // step, problem, sample
  std::map<Place, EvaluatedSample> samples;
  std::map<std::string, std::map<std::string, double>> experts;  // by problem hash and host
  RETURN_IF_ERROR(run.journal->ForEach([&](const JournalEntry& entry) {
    if (const auto* c = std::get_if<CalibrationEntry>(&entry)) {
      experts[c->problem_hash][c->host_id] = c->calibration.expert().speedup();
    }
    if (const auto* r = std::get_if<RolloutEntry>(&entry); r && IsEvaluation(r->step)) {
      EvaluatedSample& sample =
          samples[{-r->step, r->completion.group_index(), r->completion.sample()}];
      sample.tokens = TokenCount(r->completion);
    }
    if (const auto* v = std::get_if<VerdictEntry>(&entry); v && IsEvaluation(v->step)) {
      EvaluatedSample& sample = samples[{-v->step, v->group_index, v->sample}];
      sample.outcome = v->verdict.outcome();
      sample.correct = sample.outcome == v1::CORRECT;
      sample.speedup = sample.correct ? v->verdict.speedup() : 0;
      sample.noise_band = sample.correct ? v->verdict.noise_band() : 0;
      sample.reward = v->reward;
      sample.dropped = v->dropped;
      sample.candidate_hash = v->verdict.canonical_hash();
    }
    return absl::OkStatus();
  }));
  std::vector<EvaluatedSample> judged;
  const std::span<const PlannedProblem> problems = run.plan.evaluated();
  for (auto& [place, sample] : samples) {
    if (sample.outcome == v1::OUTCOME_UNSPECIFIED) continue;
    std::tie(sample.step, sample.problem_index, sample.sample) = place;
    if (static_cast<size_t>(sample.problem_index) >= problems.size()) {
      return absl::DataLossError(
          "the journal holds a sample of a problem that 'eval.problems' of "
          "campaign.yaml has not: it was changed since");
    }
    const PlannedProblem& problem = problems[static_cast<size_t>(sample.problem_index)];
    sample.problem_id = problem.problem.id();
    double log_sum = 0;
    int hosts = 0;
    for (const auto& [host, speedup] : experts[problem.hash]) {
      if (speedup <= 0) continue;
      log_sum += std::log(speedup);
      ++hosts;
    }
    sample.expert_speedup = hosts > 0 ? std::exp(log_sum / hosts) : 0;
    judged.push_back(std::move(sample));
  }
  return judged;
}

}  // namespace whetstone
