#include "coordinator/report/report.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/report/html.h"
#include "coordinator/report/outcome_names.h"
#include "coordinator/report/report_problem.h"
#include "coordinator/report/svg_chart.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

Series SeriesOf(const RunSummary& s, const std::string& name, const std::string& key,
                const std::string& color) {
  return {name, color, s.Series(key), {}};
}

// The first point is of the policy that GRPO began with.
std::string EvaluationCharts(const RunSummary& s) {
  const auto curve = [&s](const char* name, const char* key, const char* color) {
    Series series = {name, color, {}, {}};
    for (const auto& [step, row] : s.eval_rows) {
      const auto value = row.find(key);
      if (value != row.end()) series.values.push_back(value->second);
    }
    return series;
  };
  const std::string held_out = "Held-out problems, by evaluation: ";
  return LineChart(held_out + "right programs, and those at least 1.5 times as fast",
                   {curve("right", "eval/correct", "#1f77b4"),
                    curve("1.5 times as fast", "eval/fast_1.5", "#2ca02c")},
                   Scale::kPercent) +
         LineChart(held_out + "fastest right program, geometric mean",
                   {curve("speedup", "eval/best", "#2ca02c")}, Scale::kFromZero) +
         LineChart(held_out + "mean reward", {curve("reward", "eval/reward", "#1f77b4")},
                   Scale::kData);
}

std::string Charts(const RunSummary& s) {
  Series reward = SeriesOf(s, "mean reward", "reward", "#1f77b4");
  reward.spread = s.Series("reward_std");
  std::string html = LineChart(
      absl::StrCat("Mean reward by step", s.reward_note, " (band: spread within a group)"),
      {reward}, Scale::kData);
  std::vector<Series> outcomes;
  for (const OutcomeName& outcome : kOutcomeNames) {
    outcomes.push_back(SeriesOf(s, outcome.name, outcome.key, outcome.color));
  }
  html += StackedChart("Outcomes of the completions", outcomes);
  html += LineChart("Speedup of right programs over the reference",
                    {SeriesOf(s, "mean", "speedup/mean", "#1f77b4"),
                     SeriesOf(s, "fastest", "speedup/max", "#2ca02c")},
                    Scale::kFromZero);
  html += LineChart("Seconds of a step",
                    {SeriesOf(s, "prepare", "time/prepare", "#7f7f7f"),
                     SeriesOf(s, "generate", "time/generate", "#1f77b4"),
                     SeriesOf(s, "wait for verdicts", "time/wait_verdicts", "#f0b429"),
                     SeriesOf(s, "update", "time/update", "#d62728")},
                    Scale::kFromZero);
  html += LineChart("Programs that differ, completions that were cut off",
                    {SeriesOf(s, "distinct", "completions/distinct", "#1f77b4"),
                     SeriesOf(s, "cut off", "completions/clipped_ratio", "#d62728")},
                    Scale::kPercent);
  html += EvaluationCharts(s);
  std::vector<double> loss;
  for (const auto& row : s.warmup_rows) {
    const auto it = row.find("loss");
    loss.push_back(it == row.end() ? std::nan("") : it->second);
  }
  html += LineChart("Loss of the supervised warm-up", {{"loss", "#1f77b4", loss, {}}},
                    Scale::kFromZero);
  return html;
}

std::string Headline(const RunSummary& s) {
  if (s.rows.empty()) return "";
  if (s.rows.size() == 1) {
    return absl::StrFormat(
        "<p class=\"big\">Mean reward%s <b>%.3f</b> in the only step so far.</p>", s.reward_note,
        s.RewardLast());
  }
  const std::string ends = s.EndSteps() == 1 ? "step" : absl::StrCat(s.EndSteps(), " steps");
  return absl::StrFormat(
      "<p class=\"big\">Mean reward%s <b>%.3f</b> in the first %s, <b>%.3f</b> in the last.</p>",
      s.reward_note, s.RewardFirst(), ends, s.RewardLast());
}

std::string Health(const RunSummary& s) {
  if (s.health.empty()) return "";
  std::string html = "<div class=\"care\"><h3>Alarms</h3><ul>";
  for (const HealthFinding& finding : s.health) {
    absl::StrAppend(&html, "<li><b>", EscapeHtml(finding.what), ".</b> Advice: ",
                    EscapeHtml(finding.advice), ".</li>");
  }
  return html + "</ul></div>";
}

}  // namespace

std::string ReportHtml(const CampaignPlan& plan, const RunSummary& s,
                       const std::map<std::string, ProblemSamples>& samples,
                       const std::optional<Portability>& portability) {
  std::string html = absl::StrCat(PageHead(s.name, ChartStyle()), "<p>");
  absl::StrAppend(&html,
                  s.done()                 ? "Done"
                  : !s.owner               ? "Stopped"
                  : s.owner->claim.empty() ? "Running"
                                           : "Perhaps running",
                  ": ", s.steps_done, " of ", s.steps_total, " GRPO steps");
  if (s.warmup_total > 0) {
    absl::StrAppend(&html, " after ", s.warmup_done, " of ", s.warmup_total, " warm-up updates");
  }
  absl::StrAppend(&html, ".</p>", Headline(s), Health(s), Charts(s));
  if (plan.learned().size() > 1) html += ProblemTable(plan, s, samples);
  if (portability) html += PortabilityPart(*portability, s.incumbents);
  for (const PlannedProblem& planned : plan.learned()) {
    const auto found = samples.find(planned.problem.id());
    html += ProblemPart(plan, s, planned, found == samples.end() ? nullptr : &found->second);
  }
  if (!s.checkpoints.empty()) {
    absl::StrAppend(&html, "<h2>Weights</h2><p><code>", EscapeHtml(s.checkpoints.back().path),
                    "</code>, a Hugging Face directory; checksum <code>",
                    EscapeHtml(s.checkpoints.back().checksum), "</code></p>");
  }
  absl::StrAppend(&html, "<h2>Campaign</h2>");
  if (!s.changes.empty()) {
    html += "<p>As it is now. In the course of the run was changed:</p><ul>";
    for (const RecordedChange& change : s.changes) {
      absl::StrAppend(&html, "<li>", EscapeHtml(ChangeLine(change)), "</li>");
    }
    html += "</ul>";
  }
  absl::StrAppend(&html, "<pre>", EscapeHtml(MessageToYaml(plan.campaign)),
                  "</pre></body></html>\n");
  return html;
}

}  // namespace whetstone
