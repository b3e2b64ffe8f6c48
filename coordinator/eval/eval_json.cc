#include "coordinator/eval/eval_json.h"

#include <cstddef>
#include <nlohmann/json.hpp>

namespace whetstone {
namespace {

using Json = nlohmann::ordered_json;

Json EstimatesJson(const std::vector<Metric>& metrics, const std::vector<Estimate>& estimates) {
  Json json = Json::object();
  for (size_t i = 0; i < estimates.size(); ++i) {
    const Estimate& e = estimates[i];
    json[MetricName(metrics[i])] = {{"value", e.value}, {"low", e.low}, {"high", e.high}};
  }
  return json;
}

Json SpeedupOrNull(double speedup) { return speedup > 0 ? Json(speedup) : Json(nullptr); }

Json CountsJson(const EvalCounts& counts) {
  Json outcomes = Json::object();
  for (const auto& [outcome, count] : counts.outcomes) outcomes[v1::Outcome_Name(outcome)] = count;
  return {{"samples", counts.samples},
          {"right", counts.right},
          {"outcomes", outcomes},
          {"programs", counts.programs},
          {"median_speedup", SpeedupOrNull(counts.median_speedup)},
          {"fastest", SpeedupOrNull(counts.fastest)},
          {"tokens_mean", counts.tokens_mean}};
}

Json ProblemJson(const EvalSummary& s, size_t model, size_t problem) {
  const EvalProblem& p = s.models[model].problems[problem];
  const Estimates& estimates = s.problem_estimates[problem];
  Json samples = Json::array();
  for (const EvalSample& sample : p.samples) {
    samples.push_back({{"sample", sample.sample},
                       {"outcome", v1::Outcome_Name(sample.outcome)},
                       {"speedup", SpeedupOrNull(sample.speedup)},
                       {"tokens", sample.tokens},
                       {"program", sample.program}});
  }
  Json json = {{"id", p.id}, {"expert_speedup", SpeedupOrNull(p.expert_speedup)}};
  json["estimates"] =
      estimates.models.empty() ? Json::object() : EstimatesJson(s.metrics, estimates.models[model]);
  json["counts"] = CountsJson(s.problem_counts[problem][model]);
  json["samples"] = samples;
  return json;
}

}  // namespace

nlohmann::ordered_json EvalJson(const EvalSummary& s) {
  Json models = Json::array();
  for (size_t m = 0; m < s.models.size(); ++m) {
    Json problems = Json::array();
    for (size_t j = 0; j < s.problem_counts.size(); ++j) problems.push_back(ProblemJson(s, m, j));
    Json model = {{"name", s.models[m].name}, {"path", s.models[m].path}};
    model["estimates"] =
        s.overall.models.empty() ? Json::object() : EstimatesJson(s.metrics, s.overall.models[m]);
    model["counts"] = CountsJson(s.counts[m]);
    model["problems"] = problems;
    models.push_back(std::move(model));
  }
  Json pairs = Json::array();
  for (const Comparison& pair : s.overall.pairs) {
    pairs.push_back({{"model", s.models[pair.model].name},
                     {"baseline", s.models[pair.baseline].name},
                     {"estimates", EstimatesJson(s.metrics, pair.metrics)}});
  }
  return {{"split", s.split},
          {"samples", s.samples_wanted},
          {"seed", s.seed},
          {"k", s.ks},
          {"problems_compared", s.problems_compared},
          {"models", models},
          {"pairs", pairs}};
}

}  // namespace whetstone
