#include "coordinator/report/report.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/report/html.h"
#include "coordinator/report/svg_chart.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

constexpr char kStyle[] = R"(
body{font:15px/1.5 system-ui,sans-serif;max-width:780px;margin:2em auto;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.6em;margin-bottom:0}h2{font-size:1.15em;margin-top:2em;border-bottom:1px solid #ddd}
svg{width:100%;height:auto;margin:.6em 0}svg text{font:11px system-ui,sans-serif;fill:#555}
svg text.title{font-weight:600;fill:#222;font-size:13px}svg .grid{stroke:#e5e5e5}
table{border-collapse:collapse;width:100%}td,th{padding:.25em .6em;text-align:right;border-bottom:1px solid #eee}
td:first-child,th:first-child{text-align:left}pre{background:#f6f6f6;padding:.8em;overflow:auto;font-size:12.5px}
.big{font-size:1.25em}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#222}svg text{fill:#aaa}
svg text.title{fill:#ddd}svg .grid{stroke:#333}td,th{border-color:#333}h2{border-color:#444}}
)";

Series SeriesOf(const RunSummary& s, const std::string& name, const std::string& key,
                const std::string& color) {
  return {name, color, s.Series(key), {}};
}

std::string Charts(const RunSummary& s) {
  Series reward = SeriesOf(s, "mean reward", "reward", "#1f77b4");
  reward.spread = s.Series("reward_std");
  std::string html =
      LineChart(absl::StrCat("Reward by step", s.reward_note, " (band: spread within a group)"),
                {reward}, false);
  std::vector<Series> outcomes = {
      SeriesOf(s, "correct", "outcome/correct", "#2ca02c"),
      SeriesOf(s, "wrong", "outcome/wrong_answer", "#f0b429"),
      SeriesOf(s, "crash", "outcome/crash", "#e8743b"),
      SeriesOf(s, "timeout", "outcome/timeout", "#b5651d"),
      SeriesOf(s, "memory", "outcome/memory_limit", "#8c564b"),
      SeriesOf(s, "compile error", "outcome/compile_error", "#d62728"),
      SeriesOf(s, "forbidden", "outcome/forbidden", "#9467bd"),
      SeriesOf(s, "no code", "outcome/no_code", "#7f7f7f"),
  };
  html += StackedChart("Outcomes", outcomes);
  html += LineChart("Speedup of right programs over the reference",
                    {SeriesOf(s, "mean", "speedup/mean", "#1f77b4"),
                     SeriesOf(s, "fastest", "speedup/max", "#2ca02c")},
                    true);
  html += LineChart("Seconds per step",
                    {SeriesOf(s, "generate", "time/generate", "#1f77b4"),
                     SeriesOf(s, "wait for verdicts", "time/wait_verdicts", "#f0b429"),
                     SeriesOf(s, "update", "time/update", "#d62728")},
                    true);
  html += LineChart("Distinct programs (share) and completions cut off",
                    {SeriesOf(s, "distinct", "completions/distinct", "#1f77b4"),
                     SeriesOf(s, "cut off", "completions/clipped_ratio", "#d62728")},
                    true);
  std::vector<double> loss;
  for (const auto& row : s.warmup_rows) {
    const auto it = row.find("loss");
    loss.push_back(it == row.end() ? std::nan("") : it->second);
  }
  html += LineChart("Loss of the supervised warm-up", {{"loss", "#1f77b4", loss, {}}}, true);
  return html;
}

std::string Best(const CampaignPlan& plan, const RunSummary& s) {
  std::string html;
  for (const PlannedProblem& planned : plan.problems) {
    const std::string& id = planned.problem.id();
    absl::StrAppend(&html, "<h2>", EscapeHtml(id), "</h2>");
    const auto incumbent = s.incumbents.find(id);
    if (incumbent == s.incumbents.end()) {
      html += "<p>No program was faster than the reference.</p>";
      continue;
    }
    const v1::Verdict& v = incumbent->second.verdict;
    absl::StrAppend(&html, absl::StrFormat("<p class=\"big\"><b>%.2f×</b> as fast as the reference "
                                           "(95 %% interval %.2f to %.2f), step %d",
                                           v.speedup(), v.speedup_low(), v.speedup_high(),
                                           incumbent->second.step));
    const auto expert = s.expert_speedup.find(id);
    if (expert != s.expert_speedup.end()) {
      absl::StrAppend(&html, absl::StrFormat("; the expert's program: %.2f×", expert->second));
    }
    html +=
        "</p><table><tr><th>size</th><th>speedup</th><th>reference ns</th><th>candidate ns</th>"
        "</tr>";
    for (const v1::SizeResult& size : v.sizes()) {
      std::string name;
      const std::map<std::string, int64_t> sorted(size.size().begin(), size.size().end());
      for (const auto& [variable, value] : sorted) {
        absl::StrAppend(&name, variable, " = ", value, "  ");
      }
      absl::StrAppend(&html, absl::StrFormat("<tr><td>%s</td><td>%.2f</td><td>%.0f</td><td>%.0f"
                                             "</td></tr>",
                                             EscapeHtml(name), size.speedup(), size.reference_ns(),
                                             size.candidate_ns()));
    }
    absl::StrAppend(&html, "</table><pre>", EscapeHtml(incumbent->second.source),
                    "</pre><p>Proof: "
                    "<code>sh best/",
                    EscapeHtml(id),
                    "/run.sh</code></p><details><summary>"
                    "The reference</summary><pre>",
                    EscapeHtml(planned.problem.reference()), "</pre></details>");
  }
  return html;
}

}  // namespace

std::string ReportHtml(const CampaignPlan& plan, const RunSummary& s) {
  std::string html = absl::StrCat(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>",
      EscapeHtml(s.name), "</title><style>", kStyle, "</style></head><body><h1>",
      EscapeHtml(s.name), "</h1><p>");
  absl::StrAppend(&html,
                  s.done()           ? "Done"
                  : s.in_use_by != 0 ? "Running"
                                     : "Stopped",
                  ": ", s.steps_done, " of ", s.steps_total, " GRPO steps");
  if (s.warmup_total > 0) {
    absl::StrAppend(&html, " after ", s.warmup_done, " of ", s.warmup_total, " warm-up updates");
  }
  html += ".</p>";
  if (!s.rows.empty()) {
    absl::StrAppend(&html,
                    absl::StrFormat("<p class=\"big\">Mean reward%s <b>%.3f</b> in the first "
                                    "steps, <b>%.3f</b> in the last.</p>",
                                    s.reward_note, s.RewardFirst(), s.RewardLast()));
  }
  html += Charts(s);
  html += Best(plan, s);
  if (!s.checkpoints.empty()) {
    absl::StrAppend(&html, "<h2>Weights</h2><p><code>", EscapeHtml(s.checkpoints.back().path),
                    "</code>, a Hugging Face directory; checksum <code>",
                    EscapeHtml(s.checkpoints.back().checksum), "</code></p>");
  }
  absl::StrAppend(&html, "<h2>Campaign</h2><pre>", EscapeHtml(MessageToYaml(plan.campaign)),
                  "</pre></body></html>\n");
  return html;
}

}  // namespace whetstone
