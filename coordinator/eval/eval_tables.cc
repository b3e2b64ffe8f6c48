#include "coordinator/eval/eval_tables.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/report/outcome_names.h"

namespace whetstone {
namespace {

constexpr char kNone[] = "-";

std::string MeasureName(const Metric& metric) {
  const std::string name = MetricName(metric);
  return name.substr(0, name.find('@'));
}

std::string Times(double factor) { return factor > 0 ? absl::StrFormat("%.2fx", factor) : kNone; }

std::string ValueText(const Metric& metric, double value) {
  return metric.measure == Measure::kBest ? Times(value) : absl::StrFormat("%.1f%%", 100 * value);
}

std::string WithIntervalText(const Metric& metric, const Estimate& e) {
  if (metric.measure == Measure::kBest) {
    return absl::StrFormat("%.2fx [%.2f, %.2f]", e.value, e.low, e.high);
  }
  return absl::StrFormat("%.1f%% [%.1f, %.1f]", 100 * e.value, 100 * e.low, 100 * e.high);
}

// Marks a difference whose interval excludes that there is none.
std::string DifferenceText(const Metric& metric, const Estimate& e) {
  const bool ratio = metric.measure == Measure::kBest;
  const double none = ratio ? 1 : 0;
  const std::string text =
      ratio ? absl::StrFormat("x%.3f [%.3f, %.3f]", e.value, e.low, e.high)
            : absl::StrFormat("%+.1f [%+.1f, %+.1f]", 100 * e.value, 100 * e.low, 100 * e.high);
  return e.low > none || e.high < none ? text + " *" : text;
}

// Adds one row for each k, or for each model and k: `name` stands in the first column.
template <typename Text>
void AddRows(const EvalSummary& s, const std::string& name, const std::vector<Estimate>& estimates,
             const Text& text, EvalTable* table) {
  const size_t measures = s.metrics.size() / s.ks.size();
  for (size_t i = 0; i < s.ks.size(); ++i) {
    std::vector<std::string> row = {name, absl::StrCat(s.ks[i])};
    for (size_t j = i * measures; j < (i + 1) * measures; ++j) {
      row.push_back(text(s.metrics[j], estimates[j]));
    }
    table->rows.push_back(std::move(row));
  }
}

std::vector<std::string> MeasureHeader(const EvalSummary& s, const std::string& first) {
  std::vector<std::string> header = {first, "k"};
  for (size_t j = 0; j < s.metrics.size() / s.ks.size(); ++j) {
    header.push_back(MeasureName(s.metrics[j]));
  }
  return header;
}

EvalTable Overall(const EvalSummary& s) {
  EvalTable table;
  table.title = absl::StrFormat("%d problem%s of split %s, %d samples each [95%% interval over %s]",
                                s.problems_compared, s.problems_compared == 1 ? "" : "s", s.split,
                                s.samples_wanted,
                                s.problems_compared == 1 ? "samples" : "problems and samples");
  table.header = MeasureHeader(s, "model");
  for (size_t m = 0; m < s.models.size(); ++m) {
    AddRows(s, s.models[m].name, s.overall.models[m], &WithIntervalText, &table);
  }
  return table;
}

EvalTable Pair(const EvalSummary& s, const Comparison& pair) {
  EvalTable table;
  table.title = absl::StrCat(
      s.models[pair.model].name, " less ", s.models[pair.baseline].name,
      ", in points (best: the ratio); *: the 95% interval excludes that they are equal");
  table.header = MeasureHeader(s, "");
  AddRows(s, "difference", pair.metrics, &DifferenceText, &table);
  return table;
}

EvalTable Samples(const EvalSummary& s) {
  EvalTable table;
  table.title = "Samples (speedups are of right ones)";
  table.header = {"model", "samples"};
  std::vector<v1::Outcome> seen;
  for (const OutcomeName& outcome : kOutcomeNames) {
    const bool any = std::any_of(s.counts.begin(), s.counts.end(), [&](const EvalCounts& c) {
      return c.outcomes.count(outcome.outcome) > 0;
    });
    if (!any && outcome.outcome != v1::CORRECT) continue;
    seen.push_back(outcome.outcome);
    table.header.emplace_back(outcome.name);
  }
  for (const char* name : {"programs that differ", "median speedup", "fastest", "tokens"}) {
    table.header.emplace_back(name);
  }
  for (size_t m = 0; m < s.models.size(); ++m) {
    const EvalCounts& c = s.counts[m];
    std::vector<std::string> row = {s.models[m].name, absl::StrCat(c.samples)};
    for (const v1::Outcome outcome : seen) {
      const auto found = c.outcomes.find(outcome);
      row.push_back(absl::StrCat(found == c.outcomes.end() ? 0 : found->second));
    }
    row.push_back(absl::StrCat(c.programs));
    row.push_back(Times(c.median_speedup));
    row.push_back(Times(c.fastest));
    row.push_back(absl::StrFormat("%.1f", c.tokens_mean));
    table.rows.push_back(std::move(row));
  }
  return table;
}

EvalTable Problems(const EvalSummary& s) {
  EvalTable table;
  table.title = "Problem by problem";
  table.header = {"problem", "expert", "model", "right"};
  std::vector<size_t> shown;
  for (size_t i = 0; i < s.metrics.size(); ++i) {
    const Metric& metric = s.metrics[i];
    const bool wanted = metric.measure == Measure::kPass || metric.measure == Measure::kBest ||
                        (metric.measure == Measure::kFast && metric.p == 1.5);
    if (!wanted || (metric.k != s.ks.front() && metric.k != s.ks.back())) continue;
    shown.push_back(i);
    table.header.push_back(MetricName(metric));
  }
  for (const char* name : {"median speedup", "fastest", "tokens"}) table.header.emplace_back(name);
  for (size_t j = 0; j < s.problem_counts.size(); ++j) {
    for (size_t m = 0; m < s.models.size(); ++m) {
      const EvalProblem& problem = s.models[m].problems[j];
      const EvalCounts& c = s.problem_counts[j][m];
      std::vector<std::string> row = {problem.id, Times(problem.expert_speedup), s.models[m].name,
                                      absl::StrCat(c.right, "/", c.samples)};
      const Estimates& estimates = s.problem_estimates[j];
      for (const size_t i : shown) {
        row.push_back(estimates.models.empty()
                          ? kNone
                          : ValueText(s.metrics[i], estimates.models[m][i].value));
      }
      row.push_back(Times(c.median_speedup));
      row.push_back(Times(c.fastest));
      row.push_back(absl::StrFormat("%.1f", c.tokens_mean));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace

std::vector<EvalTable> EvalTables(const EvalSummary& summary) {
  std::vector<EvalTable> tables;
  if (summary.problems_compared > 0) tables.push_back(Overall(summary));
  tables.push_back(Samples(summary));
  for (const Comparison& pair : summary.overall.pairs) tables.push_back(Pair(summary, pair));
  tables.push_back(Problems(summary));
  return tables;
}

std::string TablesText(const std::vector<EvalTable>& tables) {
  std::string text;
  for (const EvalTable& table : tables) {
    std::vector<size_t> widths(table.header.size());
    const auto measure = [&](const std::vector<std::string>& row) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    };
    measure(table.header);
    for (const auto& row : table.rows) measure(row);
    const auto add = [&](const std::vector<std::string>& row) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        absl::StrAppend(&line, i == 0 ? "  " : "   ", row[i],
                        std::string(widths[i] - row[i].size(), ' '));
      }
      line.erase(line.find_last_not_of(' ') + 1);
      absl::StrAppend(&text, line, "\n");
    };
    absl::StrAppend(&text, text.empty() ? "" : "\n", table.title, "\n");
    add(table.header);
    for (const auto& row : table.rows) add(row);
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace whetstone
