#include "coordinator/report/report_problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coordinator/durable/step_row.h"
#include "coordinator/report/chart_look.h"
#include "coordinator/report/html.h"
#include "coordinator/report/outcome_names.h"
#include "coordinator/report/rollout_view.h"
#include "coordinator/report/svg_chart.h"

namespace whetstone {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
// The heading and the tags around the pieces of a part take less than this.
constexpr size_t kPartTagsBytes = 1000;

std::string RewardKey(const std::string& id) { return absl::StrCat("problem/", id, "/reward"); }

std::vector<double> Finite(const std::vector<double>& values) {
  std::vector<double> finite;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  return finite;
}

// Returns the share of right programs by step; NaN in steps without the problem.
std::vector<double> CorrectShares(const RunSummary& s, const std::string& id) {
  const std::string correct = absl::StrCat("problem/", id, "/outcome/correct");
  const std::string programs = absl::StrCat("problem/", id, "/programs");
  std::vector<double> shares;
  for (const auto& row : s.rows) {
    // An outcome that did not come has no share.
    const bool none = row.count(correct) == 0 && row.count(programs) > 0;
    shares.push_back(none ? 0 : ValueAt(row, correct));
  }
  return shares;
}

std::string RangeText(double low, double high) {
  return std::isfinite(low) ? absl::StrFormat("%.2f to %.2f", low, high) : "–";
}

std::string PartId(size_t index) { return absl::StrCat("problem-", index + 1); }

std::string PlaceOf(const VerdictEntry& v) { return RolloutPlace(v.step, v.group_index, v.sample); }

std::string Chip(v1::Outcome outcome) {
  const OutcomeName& name = OutcomeNameOf(outcome);
  return absl::StrCat(ChartSwatch(name.look), " ", name.name);
}

// Says what a rollout is called, and what it earned.
std::string Facts(const RolloutSample& sample) {
  const VerdictEntry& v = sample.judged;
  std::string text = absl::StrCat(PlaceOf(v), ", reward ", NumberText(v.reward, 3));
  if (v.verdict.outcome() == v1::CORRECT && v.verdict.timed()) {
    absl::StrAppend(&text, ", ", SpeedupText(v.verdict.speedup()));
  }
  if (sample.completion.finish() == v1::Completion::LENGTH) {
    text += ", cut off by generate.max_new_tokens";
  }
  if (sample.completion.finish() == v1::Completion::DEADLINE) {
    text += ", cut off by generate.deadline_s";
  }
  if (v.dropped) text += ", not learned from";
  return text;
}

std::string SizeTable(const v1::Verdict& verdict) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::SizeResult& size : verdict.sizes()) {
    rows.push_back({SizeText(size), NumberText(size.speedup(), 2, "×"),
                    NumberText(size.reference_ns(), 0), NumberText(size.candidate_ns(), 0)});
  }
  if (rows.empty()) return "";
  return HtmlTable("Sizes", {"size", "speedup", "reference ns", "candidate ns"}, rows);
}

std::string SampleBody(const RolloutSample& sample) {
  const v1::Verdict& v = sample.judged.verdict;
  std::string html;
  if (!v.detail().empty()) {
    absl::StrAppend(&html, "<p>What the worker says:</p>", HtmlPre(v.detail()));
  }
  if (v.techniques_size() > 0) {
    absl::StrAppend(&html, "<p>Techniques: ", EscapeHtml(absl::StrJoin(v.techniques(), ", ")),
                    "</p>");
  }
  absl::StrAppend(&html, SizeTable(v), "<p>What the policy wrote (", TokenCount(sample.completion),
                  " tokens):</p>", HtmlPre(sample.completion.text()));
  if (!sample.from_reference.empty()) {
    absl::StrAppend(&html, "<p>What it changes in the reference:</p>",
                    HtmlDiff(sample.from_reference));
  }
  return html;
}

// Returns the samples, each of them once.
std::vector<PagePart> Samples(const ProblemSamples& samples) {
  std::vector<PagePart> parts = {
      {"which samples",
       absl::StrCat("<h3>Samples</h3><p class=\"note\">Of the newest ", samples.verdicts,
                    " completions: ", kSampleRule,
                    ". <code>whet show RUN STEP/GROUP/SAMPLE</code> shows any.</p>\n")}};
  const auto fold = [&parts](const std::string& name, const std::string& summary,
                             const RolloutSample& sample) {
    parts.push_back({name, HtmlFolded(absl::StrCat(summary, " (", EscapeHtml(Facts(sample)), ")"),
                                      SampleBody(sample))});
  };
  std::map<std::string, std::string> told;  // by place
  if (samples.best) {
    fold("the best sample", absl::StrCat("The best: ", Chip(v1::CORRECT)), *samples.best);
    told[PlaceOf(samples.best->judged)] = "the best";
  }
  if (samples.worst && told.count(PlaceOf(samples.worst->judged)) == 0) {
    fold("the worst sample",
         absl::StrCat("The worst: ", Chip(samples.worst->judged.verdict.outcome())),
         *samples.worst);
    told[PlaceOf(samples.worst->judged)] = "the worst";
  }
  for (const OutcomeSample& outcome : samples.outcomes) {
    const std::string name = OutcomeNameOf(outcome.outcome).name;
    std::string summary =
        absl::StrFormat("%s: %d of %d", Chip(outcome.outcome), outcome.count, samples.verdicts);
    if (outcome.outcome != v1::CORRECT && outcome.alike < outcome.count) {
      absl::StrAppend(&summary, "; ", outcome.alike, " of them alike");
    }
    const auto before = told.find(PlaceOf(outcome.typical.judged));
    if (before == told.end()) {
      fold(absl::StrCat("a sample of ", name), summary, outcome.typical);
    } else {
      parts.push_back({absl::StrCat("how many are ", name),
                       absl::StrCat("<p>", summary, "; ", before->second, " is typical.</p>\n")});
    }
  }
  return parts;
}

std::string BestProgram(const RunSummary& s, const std::string& id) {
  const auto incumbent = s.incumbents.find(id);
  if (incumbent == s.incumbents.end()) return "<p>No program was faster than the reference.</p>";
  const v1::Verdict& v = incumbent->second.verdict;
  std::string html = absl::StrFormat(
      "<p class=\"big\"><b>%.2f×</b> as fast as the reference (95 %% interval %.2f "
      "to %.2f), step %d",
      v.speedup(), v.speedup_low(), v.speedup_high(), incumbent->second.step);
  const double expert = ValueAt(s.expert_speedup, id);
  if (std::isfinite(expert)) {
    absl::StrAppendFormat(&html, "; the expert's program: %.2f×", expert);
  }
  return absl::StrCat(html, "</p>", SizeTable(v), HtmlPre(incumbent->second.source),
                      "<p>Proof: <code>sh best/", EscapeHtml(id), "/run.sh</code></p>");
}

// Returns what there is of the problem by step. Where it is the only one, the page has it already.
std::string Curves(const RunSummary& s, const std::string& id, bool only) {
  std::string html = "<div class=\"charts\">";
  if (!only) {
    absl::StrAppend(&html,
                    LineChart(absl::StrCat("Reward of ", id),
                              {{"reward", 0, s.Series(RewardKey(id))}}, Scale::kData),
                    LineChart(absl::StrCat("Right programs of ", id),
                              {{"right", 2, CorrectShares(s, id)}}, Scale::kPercent));
  }
  return absl::StrCat(
      html,
      LineChart(absl::StrCat("Best program of ", id, ", times as fast as the reference"),
                {{"best", 1, s.Series(absl::StrCat("speedup/best/", id))}}, Scale::kFromZero),
      "</div>");
}

}  // namespace

std::string ProblemTable(const CampaignPlan& plan, const RunSummary& s,
                         const std::map<std::string, ProblemSamples>& samples) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> links;
  int looked_at = 0;
  for (const auto& [id, of_problem] : samples) looked_at += of_problem.verdicts;
  for (const PlannedProblem& planned : plan.learned()) {
    const std::string& id = planned.problem.id();
    const std::vector<double> rewards = Finite(s.Series(RewardKey(id)));
    double correct = kNothing;
    std::array<double, 3> speedups = {kNothing, kNothing, kNothing};
    if (const auto found = samples.find(id); found != samples.end()) {
      int right = 0;
      for (const OutcomeSample& outcome : found->second.outcomes) {
        if (outcome.outcome == v1::CORRECT) right = outcome.count;
      }
      correct = 100.0 * right / found->second.verdicts;
      speedups = found->second.speedups;
    }
    const auto best = s.incumbents.find(id);
    const bool has_best = best != s.incumbents.end();
    links.push_back(absl::StrCat("#", PartId(rows.size())));
    rows.push_back(
        {id, absl::StrCat(rewards.size()),
         NumberText(rewards.empty() ? kNothing : rewards.front(), 3),
         NumberText(rewards.empty() ? kNothing : rewards.back(), 3), NumberText(correct, 0, "%"),
         NumberText(speedups[1], 2, "×"), RangeText(speedups[0], speedups[2]),
         NumberText(has_best ? best->second.verdict.speedup() : kNothing, 2, "×"),
         has_best
             ? RangeText(best->second.verdict.speedup_low(), best->second.verdict.speedup_high())
             : "–",
         NumberText(ValueAt(s.expert_speedup, id), 2, "×")});
  }
  return absl::StrCat(
      "<h2>Problems</h2>",
      HtmlTable("Problems",
                {"problem", "steps", "first reward", "last", "correct", "median speedup",
                 "middle half", "best", "95 % interval", "expert"},
                rows, links),
      "<p class=\"note\">Share of correct programs, and median and middle half of their speedups: "
      "of the newest ",
      looked_at, " completions of all problems.</p>\n");
}

std::string ProblemPart(const CampaignPlan& plan, const RunSummary& s, size_t index,
                        const ProblemSamples* samples, size_t bytes_max) {
  const PlannedProblem& planned = plan.learned()[index];
  const std::string& id = planned.problem.id();
  std::string asked;
  for (const v1::Message& message : planned.messages) {
    absl::StrAppend(&asked, "<p>", EscapeHtml(message.role()), ":</p>", HtmlPre(message.content()));
  }
  std::vector<PagePart> parts = {
      {"the best program", BestProgram(s, id)},
      {"curves", Curves(s, id, plan.learned().size() == 1)},
      {"the reference", HtmlFolded("The reference", HtmlPre(planned.problem.reference()))},
      {"what the policy is asked", HtmlFolded("What the policy is asked", asked)}};
  if (samples != nullptr) {
    for (PagePart& part : Samples(*samples)) parts.push_back(std::move(part));
  }
  return absl::StrCat(
      "<section id=\"", PartId(index), "\"><h2>", EscapeHtml(id), "</h2>",
      PartsThatFit(parts, bytes_max - std::min(bytes_max, kPartTagsBytes),
                   "<code>whet best RUN</code>, <code>whet show RUN --prompt</code> and <code>whet "
                   "export RUN FOLDER</code> have them."),
      "</section>\n");
}

}  // namespace whetstone
