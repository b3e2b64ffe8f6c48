#include "coordinator/report/report_samples.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "common/status_macros.h"
#include "coordinator/durable/code_extractor.h"
#include "coordinator/report/program_diff.h"

namespace whetstone {
namespace {

// Returns the first line of a detail with every number as "#": what it says, without where.
std::string DetailKind(const std::string& detail) {
  std::string kind;
  for (const char c : detail.substr(0, detail.find('\n'))) {
    const bool number = absl::ascii_isdigit(static_cast<unsigned char>(c));
    if (!number) {
      kind += c;
    } else if (kind.empty() || kind.back() != '#') {
      kind += '#';
    }
  }
  return kind;
}

// These are the verdicts of one problem and outcome, the newest first.
using OutcomeVerdicts = std::vector<VerdictEntry>;

const VerdictEntry& MedianByReward(OutcomeVerdicts* verdicts) {
  const auto middle = verdicts->begin() + static_cast<std::ptrdiff_t>(verdicts->size() / 2);
  std::nth_element(
      verdicts->begin(), middle, verdicts->end(),
      [](const VerdictEntry& a, const VerdictEntry& b) { return a.reward < b.reward; });
  return *middle;
}

OutcomeSample PickTypical(v1::Outcome outcome, OutcomeVerdicts* verdicts) {
  OutcomeSample sample;
  sample.outcome = outcome;
  sample.count = static_cast<int>(verdicts->size());
  if (outcome == v1::CORRECT) {
    sample.alike = sample.count;
    sample.typical.judged = MedianByReward(verdicts);
    return sample;
  }
  std::map<std::string, int> kinds;
  for (const VerdictEntry& v : *verdicts) ++kinds[DetailKind(v.verdict.detail())];
  for (const VerdictEntry& v : *verdicts) {
    const int alike = kinds[DetailKind(v.verdict.detail())];
    if (alike <= sample.alike) continue;
    sample.alike = alike;
    sample.typical.judged = v;
  }
  return sample;
}

// By nearest rank.
std::array<double, 3> Quartiles(std::vector<double> values) {
  std::array<double, 3> quartiles = {kNoSpeedup, kNoSpeedup, kNoSpeedup};
  if (values.empty()) return quartiles;
  std::sort(values.begin(), values.end());
  for (size_t q = 0; q < quartiles.size(); ++q) {
    quartiles[q] = values[(values.size() * (q + 1) + 3) / 4 - 1];
  }
  return quartiles;
}

// Adds what the rollout says, and what its program changes.
absl::Status Complete(const CampaignPlan& plan, const Journal& journal, RolloutSample* sample) {
  const VerdictEntry& v = sample->judged;
  ASSIGN_OR_RETURN(sample->completion, journal.FindCompletion(v.step, v.group_index, v.sample));
  const PlannedProblem& planned = plan.ProblemOf(v.step, v.group_index);
  const std::optional<std::string> program =
      ExtractCode(sample->completion.text(), planned.response_prefix);
  if (program) {
    sample->from_reference =
        ProgramDiff("reference.cc", planned.problem.reference(), "program.cc", *program);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<std::string, ProblemSamples>> PickSamples(const CampaignPlan& plan,
                                                                  const Journal& journal) {
  std::map<std::string, std::map<v1::Outcome, OutcomeVerdicts>> found;
  std::map<std::string, ProblemSamples> picked;
  std::map<std::string, std::vector<double>> speedups;
  RETURN_IF_ERROR(journal.ForEachNewestVerdict(kSampleVerdictsMax, [&](const VerdictEntry& v) {
    if (IsEvaluation(v.step)) return;
    const std::string& id = plan.ProblemOf(v.step, v.group_index).problem.id();
    found[id][v.verdict.outcome()].push_back(v);
    ProblemSamples& samples = picked[id];
    ++samples.verdicts;
    const bool correct = v.verdict.outcome() == v1::CORRECT;
    if (correct && v.verdict.timed()) speedups[id].push_back(v.verdict.speedup());
    if (correct && (!samples.best || v.reward > samples.best->judged.reward)) {
      samples.best.emplace().judged = v;
    }
    if (!v.dropped && (!samples.worst || v.reward < samples.worst->judged.reward)) {
      samples.worst.emplace().judged = v;
    }
  }));
  for (auto& [id, outcomes] : found) {
    ProblemSamples& samples = picked[id];
    samples.speedups = Quartiles(speedups[id]);
    for (auto& [outcome, verdicts] : outcomes) {
      samples.outcomes.push_back(PickTypical(outcome, &verdicts));
    }
    std::stable_sort(
        samples.outcomes.begin(), samples.outcomes.end(),
        [](const OutcomeSample& a, const OutcomeSample& b) { return a.count > b.count; });
    if (samples.best) RETURN_IF_ERROR(Complete(plan, journal, &*samples.best));
    if (samples.worst) RETURN_IF_ERROR(Complete(plan, journal, &*samples.worst));
    for (OutcomeSample& outcome : samples.outcomes) {
      RETURN_IF_ERROR(Complete(plan, journal, &outcome.typical));
    }
  }
  return picked;
}

}  // namespace whetstone
