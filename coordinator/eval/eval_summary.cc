#include "coordinator/eval/eval_summary.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "common/status_macros.h"
#include "coordinator/eval/estimators.h"

namespace whetstone {
namespace {

bool Counts(const EvalSample& sample) { return sample.outcome != v1::INFRASTRUCTURE_ERROR; }

std::vector<double> SpeedupsOf(const EvalProblem& problem) {
  std::vector<double> speedups;
  for (const EvalSample& sample : problem.samples) {
    if (Counts(sample)) {
      speedups.push_back(sample.outcome == v1::CORRECT ? sample.speedup : 0);
    }
  }
  return speedups;
}

// Adds up problems of one model.
EvalCounts CountsOf(const std::vector<const EvalProblem*>& problems) {
  EvalCounts counts;
  std::set<std::pair<std::string, std::string>> programs;
  std::vector<double> medians;  // logarithms
  for (const EvalProblem* problem : problems) {
    std::vector<double> right;
    for (const EvalSample& sample : problem->samples) {
      ++counts.samples;
      ++counts.outcomes[sample.outcome];
      counts.tokens_mean += static_cast<double>(sample.tokens);
      if (!sample.program.empty()) programs.emplace(problem->id, sample.program);
      if (sample.outcome == v1::CORRECT) right.push_back(sample.speedup);
    }
    if (right.empty()) continue;
    counts.right += static_cast<int>(right.size());
    counts.fastest = std::max(counts.fastest, *std::max_element(right.begin(), right.end()));
    medians.push_back(std::log(Median(std::move(right))));
  }
  if (counts.samples > 0) counts.tokens_mean /= counts.samples;
  counts.programs = programs.size();
  double sum = 0;
  for (const double median : medians) sum += median;
  if (!medians.empty()) {
    counts.median_speedup = std::exp(sum / static_cast<double>(medians.size()));
  }
  return counts;
}

double SharedExpert(const std::vector<EvalModel>& models, size_t problem) {
  double sum = 0;
  int measured = 0;
  for (const EvalModel& model : models) {
    const double expert = model.problems[problem].expert_speedup;
    if (expert <= 0) continue;
    sum += std::log(expert);
    ++measured;
  }
  return measured == 0 ? 0 : std::exp(sum / measured);
}

}  // namespace

EvalSummary SummarizeEvaluation(std::vector<EvalModel> models, const std::string& split,
                                int samples_wanted, std::vector<int> ks, uint64_t seed) {
  CHECK(!models.empty());
  EvalSummary summary;
  summary.split = split;
  summary.samples_wanted = samples_wanted;
  summary.seed = seed;
  summary.ks = std::move(ks);
  for (const int k : summary.ks) {
    for (const Metric& metric :
         {Metric{Measure::kPass, 0, k}, Metric{Measure::kFast, 1, k},
          Metric{Measure::kFast, 1.5, k}, Metric{Measure::kFast, 2, k},
          Metric{Measure::kFastExpert, 0, k}, Metric{Measure::kBest, 0, k}}) {
      summary.metrics.push_back(metric);
    }
  }
  std::vector<PairedProblem> compared;
  for (size_t j = 0; j < models.front().problems.size(); ++j) {
    PairedProblem paired{.expert_speedup = SharedExpert(models, j), .speedups = {}};
    std::vector<EvalCounts> counts;
    bool all = true;
    for (EvalModel& model : models) {
      CHECK(model.problems[j].id == models.front().problems[j].id);
      model.problems[j].expert_speedup = paired.expert_speedup;
      counts.push_back(CountsOf({&model.problems[j]}));
      paired.speedups.push_back(SpeedupsOf(model.problems[j]));
      all = all && !paired.speedups.back().empty();
    }
    summary.problem_counts.push_back(std::move(counts));
    summary.problem_estimates.push_back(
        all ? EstimateModels({paired}, summary.metrics, seed, kDraws) : Estimates{});
    if (all) compared.push_back(std::move(paired));
  }
  for (const EvalModel& model : models) {
    std::vector<const EvalProblem*> problems;
    for (const EvalProblem& problem : model.problems) problems.push_back(&problem);
    summary.counts.push_back(CountsOf(problems));
  }
  summary.problems_compared = compared.size();
  if (!compared.empty()) {
    summary.overall = EstimateModels(compared, summary.metrics, seed, kDraws);
  }
  summary.models = std::move(models);
  return summary;
}

}  // namespace whetstone
