#include "coordinator/report/report.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/report/chart_look.h"
#include "coordinator/report/html.h"
#include "coordinator/report/outcome_names.h"
#include "coordinator/report/report_problem.h"
#include "coordinator/report/svg_chart.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

// The campaign may hold whole hints and worked examples.
constexpr size_t kCampaignBytesMax = 200'000;

Series SeriesOf(const RunSummary& s, const std::string& name, size_t look, const std::string& key) {
  return {name, look, s.Series(key)};
}

// The first point is of the policy that GRPO began with.
std::string EvaluationCharts(const RunSummary& s) {
  ChartAxis axis;
  for (const auto& [step, row] : s.eval_rows) axis.at.push_back(step);
  const auto curve = [&s](const char* name, size_t look, const char* key) {
    Series series = {name, look, {}};
    for (const auto& [step, row] : s.eval_rows) series.values.push_back(ValueAt(row, key));
    return series;
  };
  const std::string held_out = "Held-out problems: ";
  return LineChart(
             held_out + "right programs, and those at least 1.5 times as fast",
             {curve("right", 2, "eval/correct"), curve("1.5 times as fast", 1, "eval/fast_1.5")},
             Scale::kPercent, axis) +
         LineChart(held_out + "fastest right program, geometric mean",
                   {curve("speedup", 1, "eval/best")}, Scale::kFromZero, axis) +
         LineChart(held_out + "mean reward", {curve("reward", 0, "eval/reward")}, Scale::kData,
                   axis);
}

std::string Charts(const RunSummary& s) {
  if (s.rows.empty() && s.warmup_rows.empty() && s.eval_rows.empty()) {
    return "<p>No step is done yet: curves come with the first.</p>";
  }
  Series reward = SeriesOf(s, "mean reward", 0, "reward");
  reward.spread = s.Series("reward_std");
  std::string html = "<div class=\"charts\">";
  html += LineChart(absl::StrCat("Mean reward", s.reward_note, " (band: spread within a group)"),
                    {reward}, Scale::kData);
  std::vector<Series> outcomes;
  for (const OutcomeName& outcome : kOutcomeNames) {
    outcomes.push_back(SeriesOf(s, outcome.name, outcome.look, outcome.key));
  }
  html += StackedChart("Outcomes of the completions", outcomes);
  html +=
      LineChart("Speedup of right programs over the reference",
                {SeriesOf(s, "mean", 0, "speedup/mean"), SeriesOf(s, "fastest", 1, "speedup/max")},
                Scale::kFromZero);
  html += LineChart(
      "Seconds of a step",
      {SeriesOf(s, "prepare", 7, "time/prepare"), SeriesOf(s, "generate", 0, "time/generate"),
       SeriesOf(s, "wait for verdicts", 1, "time/wait_verdicts"),
       SeriesOf(s, "update", 2, "time/update")},
      Scale::kFromZero);
  html += LineChart("Programs that differ, completions that were cut off",
                    {SeriesOf(s, "distinct", 0, "completions/distinct"),
                     SeriesOf(s, "cut off", 1, "completions/clipped_ratio")},
                    Scale::kPercent);
  html += EvaluationCharts(s);
  std::vector<double> loss;
  for (const auto& row : s.warmup_rows) loss.push_back(ValueAt(row, "loss"));
  html += LineChart("Loss of the supervised warm-up", {{"loss", 0, loss}}, Scale::kFromZero,
                    {.unit = "update"});
  return html + "</div>";
}

std::string Headline(const RunSummary& s) {
  if (s.rows.empty()) return "";
  const std::string last = absl::StrCat("<b>", NumberText(s.RewardLast(), 3), "</b>");
  const std::string begin = absl::StrCat("<p class=\"big\">Mean reward", s.reward_note, " ");
  if (s.rows.size() == 1) return absl::StrCat(begin, last, " in the only step so far.</p>");
  const std::string ends = s.EndSteps() == 1 ? "step" : absl::StrCat(s.EndSteps(), " steps");
  return absl::StrCat(begin, "<b>", NumberText(s.RewardFirst(), 3), "</b> in the first ", ends,
                      ", ", last, " in the last.</p>");
}

std::string Health(const RunSummary& s) {
  if (s.health.empty()) return "";
  std::string html = "<div class=\"care\"><h3>Alarms</h3><ul>";
  for (const HealthFinding& finding : s.health) {
    absl::StrAppend(&html, "<li><b>", EscapeHtml(finding.what),
                    ".</b> Advice: ", EscapeHtml(finding.advice), ".</li>");
  }
  return html + "</ul></div>";
}

// Returns what the run is, what it learned and what became of all problems.
std::string Beginning(const CampaignPlan& plan, const RunSummary& s,
                      const std::map<std::string, ProblemSamples>& samples,
                      const std::optional<Portability>& portability) {
  std::string html = absl::StrCat(PageHead(s.name, ReportStyle()), ChartPatterns(), "<p>",
                                  s.done()                  ? "Done"
                                  : !s.owner                ? "Stopped"
                                  : !s.owner->claim.empty() ? "Perhaps running"
                                  : s.paused_since          ? "Paused"
                                                            : "Running",
                                  ": ", s.steps_done, " of ", s.steps_total, " GRPO steps");
  if (s.warmup_total > 0) {
    absl::StrAppend(&html, " after ", s.warmup_done, " of ", s.warmup_total, " warm-up updates");
  }
  absl::StrAppend(&html, ".</p>", Headline(s), Health(s), Charts(s));
  if (plan.learned().size() > 1) html += ProblemTable(plan, s, samples);
  if (portability) html += PortabilityPart(*portability, s.incumbents);
  return html;
}

// Returns what comes after the problems.
std::string End(const CampaignPlan& plan, const RunSummary& s) {
  std::string html;
  if (!s.checkpoints.empty()) {
    absl::StrAppend(&html, "<h2>Weights</h2><p><code>", EscapeHtml(s.checkpoints.back().path),
                    "</code>, a Hugging Face directory; checksum <code>",
                    EscapeHtml(s.checkpoints.back().checksum), "</code></p>");
  }
  html += "<h2>Campaign</h2>";
  if (!s.changes.empty()) {
    html += "<p>As it is now. In the course of the run was changed:</p><ul>";
    for (const RecordedChange& change : s.changes) {
      absl::StrAppend(&html, "<li>", EscapeHtml(ChangeLine(change)), "</li>");
    }
    html += "</ul>";
  }
  return absl::StrCat(html, HtmlPre(MessageToYaml(plan.campaign), kCampaignBytesMax),
                      "</body></html>\n");
}

}  // namespace

std::string ReportStyle() {
  return absl::StrCat("body{max-width:1400px}p,li{max-width:80ch}pre,.wide{max-width:1000px}",
                      ChartStyle());
}

std::string ReportHtml(const CampaignPlan& plan, const RunSummary& s,
                       const std::map<std::string, ProblemSamples>& samples,
                       const std::optional<Portability>& portability) {
  std::string html = Beginning(plan, s, samples, portability);
  const std::string end = End(plan, s);
  const size_t problems = plan.learned().size();
  const size_t bytes_left = kPageBytesMax - std::min(kPageBytesMax, html.size() + end.size());
  for (size_t i = 0; i < problems; ++i) {
    const auto found = samples.find(plan.learned()[i].problem.id());
    html += ProblemPart(plan, s, i, found == samples.end() ? nullptr : &found->second,
                        bytes_left / problems);
  }
  return html + end;
}

}  // namespace whetstone
