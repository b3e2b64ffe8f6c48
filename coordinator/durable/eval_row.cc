#include "coordinator/durable/eval_row.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace whetstone {
namespace {

constexpr double kFast = 1.5;

// Returns 0 for a key that is not there: a row of an earlier version.
double ValueOf(const std::map<std::string, double>& row, const std::string& key) {
  const auto it = row.find(key);
  return it == row.end() ? 0 : it->second;
}

}  // namespace

std::map<std::string, double> BuildEvalRow(const StepRecord& evaluation, const StepTimes& times) {
  std::map<int, int> outcomes;
  double log_best = 0, reward = 0, tokens = 0;
  int samples = 0, fast = 0, dropped = 0, cut = 0;
  for (const GroupRecord& group : evaluation.groups) {
    double best = 1;
    for (const CandidateRecord& record : group.samples) {
      const v1::Verdict& verdict = record.verdict->verdict;
      ++samples;
      ++outcomes[verdict.outcome()];
      if (verdict.outcome() == v1::CORRECT) {
        best = std::max(best, verdict.speedup());
        fast += verdict.speedup() >= kFast ? 1 : 0;
      }
      dropped += record.verdict->dropped ? 1 : 0;
      reward += record.verdict->dropped ? 0 : record.verdict->reward;
      tokens += TokenCount(*record.completion);
      cut += record.completion->finish() != v1::Completion::STOP ? 1 : 0;
    }
    log_best += std::log(best);
  }
  const double n = samples;
  std::map<std::string, double> row = {
      {"eval/correct", outcomes[v1::CORRECT] / n},
      {"eval/fast_1.5", fast / n},
      {"eval/best", std::exp(log_best / static_cast<double>(evaluation.groups.size()))},
      {"eval/dropped", dropped / n},
      {"eval/mean_length", tokens / n},
      {"eval/clipped_ratio", cut / n},
      {"eval/samples", n},
      {"eval/time/generate", times.generate},
      {"eval/time/wait_verdicts", times.wait_verdicts},
      {"eval/time/step", times.step}};
  if (dropped < samples) row["eval/reward"] = reward / (samples - dropped);
  for (int o = v1::Outcome_MIN + 1; o <= v1::Outcome_MAX; ++o) {
    const std::string name = absl::AsciiStrToLower(v1::Outcome_Name(static_cast<v1::Outcome>(o)));
    row["eval/outcome/" + name] = outcomes[o] / n;
  }
  return row;
}

std::string EvalText(const std::map<std::string, double>& row) {
  return absl::StrFormat("correct %.0f%%, at least 1.5x %.0f%%, best %s",
                         100 * ValueOf(row, "eval/correct"), 100 * ValueOf(row, "eval/fast_1.5"),
                         SpeedupText(ValueOf(row, "eval/best")));
}

std::string EvalLine(const v1::UpdateName& name, const std::map<std::string, double>& row) {
  return absl::StrFormat("%s  reward %6.3f  %s  %.1f s: generate %.1f, verdicts %.1f",
                         PhaseStep(name), ValueOf(row, "eval/reward"), EvalText(row),
                         ValueOf(row, "eval/time/step"), ValueOf(row, "eval/time/generate"),
                         ValueOf(row, "eval/time/wait_verdicts"));
}

}  // namespace whetstone
