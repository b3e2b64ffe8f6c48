#include "coordinator/report/report_problem.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coordinator/durable/step_row.h"
#include "coordinator/report/html.h"
#include "coordinator/report/outcome_names.h"
#include "coordinator/report/rollout_view.h"
#include "coordinator/report/svg_chart.h"

namespace whetstone {
namespace {

std::string RewardKey(const std::string& id) { return absl::StrCat("problem/", id, "/reward"); }

std::vector<double> Finite(const std::vector<double>& values) {
  std::vector<double> finite;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  return finite;
}

std::string Folded(const std::string& summary, const std::string& body) {
  return absl::StrCat("<details><summary>", summary, "</summary>", body, "</details>\n");
}

std::string Pre(const std::string& text) {
  return absl::StrCat("<pre>", EscapeHtml(text), "</pre>");
}

std::string Chip(v1::Outcome outcome) {
  const OutcomeName& name = OutcomeNameOf(outcome);
  return absl::StrCat("<span class=\"chip\" style=\"background:", name.color, "\"></span>",
                      name.name);
}

// Says where a rollout is from, and what it earned.
std::string Facts(const RolloutSample& sample) {
  const VerdictEntry& v = sample.judged;
  std::string text = absl::StrFormat("step %d, group %d, sample %d; reward %.3f", v.step,
                                     v.group_index, v.sample, v.reward);
  if (v.verdict.outcome() == v1::CORRECT && v.verdict.timed()) {
    absl::StrAppend(&text, "; ", SpeedupText(v.verdict.speedup()));
  }
  if (sample.completion.finish() == v1::Completion::LENGTH) {
    text += "; cut off by generate.max_new_tokens";
  }
  if (sample.completion.finish() == v1::Completion::DEADLINE) {
    text += "; cut off by generate.deadline_s";
  }
  if (v.dropped) text += "; not learned from";
  return text;
}

std::string SampleBody(const RolloutSample& sample) {
  const v1::Verdict& v = sample.judged.verdict;
  std::string html = absl::StrCat("<p>", EscapeHtml(Facts(sample)), "</p>");
  if (!v.detail().empty()) absl::StrAppend(&html, "<p>What the worker says:</p>", Pre(v.detail()));
  if (v.techniques_size() > 0) {
    absl::StrAppend(&html, "<p>Techniques: ", EscapeHtml(absl::StrJoin(v.techniques(), ", ")),
                    "</p>");
  }
  return absl::StrCat(html, "<p>What the policy wrote (", TokenCount(sample.completion),
                      " tokens):</p>", Pre(sample.completion.text()));
}

std::string Samples(const PlannedProblem& planned, const ProblemSamples& samples) {
  std::string html =
      absl::StrCat("<h3>Samples of the newest ", samples.verdicts, " completions</h3>");
  for (const OutcomeSample& outcome : samples.outcomes) {
    std::string summary =
        absl::StrFormat("%s: %d of %d", Chip(outcome.outcome), outcome.count, samples.verdicts);
    if (outcome.outcome != v1::CORRECT && outcome.alike < outcome.count) {
      absl::StrAppend(&summary, "; ", outcome.alike, " of them alike");
    }
    html += Folded(summary, SampleBody(outcome.typical));
  }
  if (samples.best) html += Folded("The best of these", SampleBody(*samples.best));
  std::string asked;
  for (const v1::Message& message : planned.messages) {
    absl::StrAppend(&asked, "<p>", EscapeHtml(message.role()), ":</p>", Pre(message.content()));
  }
  return html + Folded("What the policy is asked", asked);
}

std::string SizeTable(const v1::Verdict& verdict) {
  std::string html =
      "<div class=\"wide\"><table><tr><th>size</th><th>speedup</th><th>reference ns</th>"
      "<th>candidate ns</th></tr>";
  for (const v1::SizeResult& size : verdict.sizes()) {
    absl::StrAppend(&html, absl::StrFormat("<tr><td>%s</td><td>%.2f</td><td>%.0f</td><td>%.0f"
                                           "</td></tr>",
                                           EscapeHtml(SizeText(size)), size.speedup(),
                                           size.reference_ns(), size.candidate_ns()));
  }
  return html + "</table></div>";
}

std::string BestProgram(const RunSummary& s, const std::string& id) {
  const auto incumbent = s.incumbents.find(id);
  if (incumbent == s.incumbents.end()) return "<p>No program was faster than the reference.</p>";
  const v1::Verdict& v = incumbent->second.verdict;
  std::string html = absl::StrFormat(
      "<p class=\"big\"><b>%.2f×</b> as fast as the reference (95 %% interval %.2f "
      "to %.2f), step %d",
      v.speedup(), v.speedup_low(), v.speedup_high(), incumbent->second.step);
  const auto expert = s.expert_speedup.find(id);
  if (expert != s.expert_speedup.end()) {
    absl::StrAppend(&html, absl::StrFormat("; the expert's program: %.2f×", expert->second));
  }
  absl::StrAppend(&html, "</p>", SizeTable(v), Pre(incumbent->second.source),
                  "<p>Proof: <code>sh best/", EscapeHtml(id), "/run.sh</code></p>");
  return html;
}

}  // namespace

std::string ProblemTable(const CampaignPlan& plan, const RunSummary& s,
                         const std::map<std::string, ProblemSamples>& samples) {
  std::string html =
      "<h2>Problems</h2><div class=\"wide\"><table><tr><th>problem</th><th>steps</th>"
      "<th>first reward</th><th>last</th><th>correct</th><th>best</th><th>expert</th></tr>";
  for (const PlannedProblem& planned : plan.learned()) {
    const std::string& id = planned.problem.id();
    const std::vector<double> rewards = Finite(s.Series(RewardKey(id)));
    int correct = 0, verdicts = 0;
    if (const auto found = samples.find(id); found != samples.end()) {
      verdicts = found->second.verdicts;
      for (const OutcomeSample& outcome : found->second.outcomes) {
        if (outcome.outcome == v1::CORRECT) correct = outcome.count;
      }
    }
    const auto best = s.incumbents.find(id);
    const auto expert = s.expert_speedup.find(id);
    std::vector<std::string> cells = {
        absl::StrCat("<a href=\"#", EscapeHtml(id), "\">", EscapeHtml(id), "</a>"),
        absl::StrCat(rewards.size())};
    const auto add = [&cells](bool there, int digits, double value, const char* unit) {
      cells.push_back(there ? absl::StrFormat("%.*f%s", digits, value, unit) : "–");
    };
    add(!rewards.empty(), 3, rewards.empty() ? 0 : rewards.front(), "");
    add(!rewards.empty(), 3, rewards.empty() ? 0 : rewards.back(), "");
    add(verdicts > 0, 0, verdicts > 0 ? 100.0 * correct / verdicts : 0, "%");
    const bool has_best = best != s.incumbents.end();
    add(has_best, 2, has_best ? best->second.verdict.speedup() : 0, "×");
    const bool has_expert = expert != s.expert_speedup.end();
    add(has_expert, 2, has_expert ? expert->second : 0, "×");
    absl::StrAppend(&html, "<tr><td>", absl::StrJoin(cells, "</td><td>"), "</td></tr>");
  }
  return html + "</table></div>";
}

std::string ProblemPart(const CampaignPlan& plan, const RunSummary& s,
                        const PlannedProblem& planned, const ProblemSamples* samples) {
  const std::string& id = planned.problem.id();
  std::string html =
      absl::StrCat("<section id=\"", EscapeHtml(id), "\"><h2>", EscapeHtml(id), "</h2>");
  if (plan.learned().size() > 1) {
    html += LineChart(absl::StrCat("Reward of ", id, " by step"),
                      {{"reward", "#1f77b4", s.Series(RewardKey(id)), {}}}, Scale::kData);
  }
  html += BestProgram(s, id);
  html += LineChart(absl::StrCat("Best program of ", id, ", times as fast as the reference"),
                    {{"best", "#2ca02c", s.Series(absl::StrCat("speedup/best/", id)), {}}},
                    Scale::kFromZero);
  html += Folded("The reference", Pre(planned.problem.reference()));
  if (samples != nullptr) html += Samples(planned, *samples);
  return html + "</section>\n";
}

}  // namespace whetstone
