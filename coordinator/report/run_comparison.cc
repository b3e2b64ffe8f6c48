#include "coordinator/report/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "coordinator/report/html.h"
#include "coordinator/report/report.h"
#include "coordinator/report/svg_chart.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Returns what each run is called: its name or, where several have the same, its folder's or even
// the whole path.
std::vector<std::string> LabelsOf(const std::vector<ComparedRun>& runs) {
  const std::function<std::string(const RunSummary&)> ways[] = {
      [](const RunSummary& s) { return s.name; },
      [](const RunSummary& s) { return std::filesystem::path(s.run_dir).filename().string(); },
      [](const RunSummary& s) { return s.run_dir; }};
  std::vector<std::string> labels;
  for (const auto& way : ways) {
    labels.clear();
    for (const ComparedRun& run : runs) labels.push_back(way(run.summary));
    if (std::set<std::string>(labels.begin(), labels.end()).size() == runs.size()) break;
  }
  return labels;
}

// Returns the run's settings by key. Files in its directory are named as from there, and a prompt
// file counts by what it says.
std::map<std::string, std::string> SettingsOf(const ComparedRun& run) {
  std::map<std::string, std::string> settings = FlatYaml(run.plan.campaign);
  for (auto& [key, value] : settings) {
    absl::StrReplaceAll({{run.summary.run_dir + "/", ""}}, &value);
  }
  for (const PlannedProblem& planned : run.plan.problems) {
    settings[absl::StrCat("prompt file of ", planned.problem.id())] = planned.hash.substr(0, 12);
  }
  return settings;
}

// Says whether two runs may differ in that key and still be the same experiment.
bool IsOfOneRun(const std::string& key) {
  return key == "name" || key == "seed" || key == "checkpoint.dir";
}

// Runs of the same settings, but for those keys; what was changed in their course included.
struct RunGroup {
  std::string name;  // that of the run, or of all of them
  std::vector<const RunSummary*> runs;
};

std::vector<RunGroup> GroupsOf(const std::vector<ComparedRun>& runs,
                               const std::vector<std::string>& labels) {
  std::vector<std::string> keys;
  std::vector<RunGroup> groups;
  for (size_t r = 0; r < runs.size(); ++r) {
    std::string key;
    for (const auto& [setting, value] : SettingsOf(runs[r])) {
      if (!IsOfOneRun(setting)) absl::StrAppend(&key, setting, "=", value, "\n");
    }
    for (const RecordedChange& change : runs[r].summary.changes) {
      absl::StrAppend(&key, ChangeText(change.change), "\n");
    }
    const auto g = static_cast<size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
    if (g == keys.size()) {
      keys.push_back(key);
      groups.push_back({labels[r], {}});
    } else {
      absl::StrAppend(&groups[g].name, ", ", labels[r]);
    }
    groups[g].runs.push_back(&runs[r].summary);
  }
  return groups;
}

// Returns a table of the keys whose values are not all the same.
std::string SettingsPart(const std::vector<ComparedRun>& runs,
                         const std::vector<std::string>& labels) {
  std::map<std::string, std::vector<std::string>> settings;
  for (size_t r = 0; r < runs.size(); ++r) {
    for (const auto& [key, value] : SettingsOf(runs[r])) {
      settings.try_emplace(key, runs.size(), "–").first->second[r] = value;
    }
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, values] : settings) {
    if (key == "name" || std::count(values.begin(), values.end(), values[0]) ==
                             static_cast<std::ptrdiff_t>(values.size())) {
      continue;
    }
    rows.push_back({key});
    rows.back().insert(rows.back().end(), values.begin(), values.end());
  }
  std::string html = "<h2>Settings that differ</h2>";
  if (rows.empty()) {
    html += "<p>None but the names.</p>";
  } else {
    std::vector<std::string> header = {"key"};
    header.insert(header.end(), labels.begin(), labels.end());
    html += HtmlTable("Settings that differ", header, rows);
  }
  std::string changes;
  for (size_t r = 0; r < runs.size(); ++r) {
    for (const RecordedChange& change : runs[r].summary.changes) {
      absl::StrAppend(&changes, "<li>",
                      EscapeHtml(absl::StrCat(labels[r], ", ", ChangeLine(change))), "</li>");
    }
  }
  if (changes.empty()) return html;
  return absl::StrCat(html, "<p>As they are now. In the course of the runs was changed:</p><ul>",
                      changes, "</ul>");
}

// What a chart shows of a run, by step.
using Curve = std::function<std::vector<double>(const RunSummary&)>;

// Returns the mean of the group's curves, as far as the shortest reaches, and their spread, if
// there are several.
Series SeriesOfGroup(const RunGroup& group, size_t look, const Curve& curve) {
  std::vector<std::vector<double>> curves;
  size_t steps = std::numeric_limits<size_t>::max();
  for (const RunSummary* run : group.runs) {
    steps = std::min(steps, curves.emplace_back(curve(*run)).size());
  }
  Series series = {group.name, look, {}};
  for (size_t i = 0; i < steps; ++i) {
    double sum = 0, squares = 0, n = 0;
    for (const std::vector<double>& values : curves) {
      if (!std::isfinite(values[i])) continue;
      sum += values[i];
      ++n;
    }
    const double mean = n > 0 ? sum / n : kMissing;
    for (const std::vector<double>& values : curves) {
      if (std::isfinite(values[i])) squares += (values[i] - mean) * (values[i] - mean);
    }
    series.values.push_back(mean);
    if (curves.size() > 1) series.spread.push_back(n > 1 ? std::sqrt(squares / (n - 1)) : kMissing);
  }
  return series;
}

// Returns a chart with a line for each group.
std::string GroupChart(const std::vector<RunGroup>& groups, const std::string& title, Scale scale,
                       const Curve& curve, const ChartAxis& axis = {}) {
  std::vector<Series> series;
  for (const RunGroup& group : groups) {
    series.push_back(SeriesOfGroup(group, series.size(), curve));
  }
  return LineChart(title, series, scale, axis);
}

Curve ByKey(const std::string& key) {
  return [key](const RunSummary& run) { return run.Series(key); };
}

std::string CurvesPart(const std::vector<ComparedRun>& runs, const std::vector<RunGroup>& groups) {
  std::string html = "<h2>Curves</h2>";
  const bool bands = std::any_of(groups.begin(), groups.end(),
                                 [](const RunGroup& group) { return group.runs.size() > 1; });
  if (bands) {
    html +=
        "<p>Runs that differ in their seed alone are one line: their mean, as far as all of them "
        "got, with a band of one standard deviation (n − 1) to either side. They are:</p><ul>";
    for (const RunGroup& group : groups) {
      if (group.runs.size() < 2) continue;
      absl::StrAppend(&html, "<li>", group.runs.size(), " runs: ", EscapeHtml(group.name), "</li>");
    }
    html += "</ul>";
  }
  // An evaluation that a run has not is a gap in its line.
  std::set<int64_t> evaluated;
  for (const ComparedRun& run : runs) {
    for (const auto& [step, row] : run.summary.eval_rows) evaluated.insert(step);
  }
  const ChartAxis evaluations = {.at = {evaluated.begin(), evaluated.end()}};
  const auto by_evaluation = [&evaluations](const std::string& key) {
    return [&evaluations, key](const RunSummary& run) {
      std::vector<double> values(evaluations.at.size(), kMissing);
      for (size_t i = 0; i < values.size(); ++i) {
        const auto row = run.eval_rows.find(evaluations.at[i]);
        if (row != run.eval_rows.end()) values[i] = ValueAt(row->second, key);
      }
      return values;
    };
  };
  return absl::StrCat(
      html, "<div class=\"charts\">",
      GroupChart(groups, "Mean reward", Scale::kData, ByKey("reward")),
      GroupChart(groups, "Right programs", Scale::kPercent, ByKey("outcome/correct")),
      GroupChart(groups, "Fastest right program, times as fast as the reference", Scale::kFromZero,
                 ByKey("speedup/max")),
      GroupChart(groups, "Held-out problems: right programs", Scale::kPercent,
                 by_evaluation("eval/correct"), evaluations),
      GroupChart(groups, "Held-out problems: fastest right program, geometric mean",
                 Scale::kFromZero, by_evaluation("eval/best"), evaluations),
      GroupChart(groups, "Seconds of a step", Scale::kFromZero, ByKey("time/step")), "</div>");
}

std::string RunsPart(const std::vector<ComparedRun>& runs, const std::vector<std::string>& labels) {
  std::vector<std::vector<std::string>> rows;
  for (size_t r = 0; r < runs.size(); ++r) {
    const RunSummary& s = runs[r].summary;
    rows.push_back({labels[r], s.run_dir, s.state(),
                    absl::StrCat(s.steps_done, " of ", s.steps_total),
                    NumberText(s.RewardFirst(), 3), NumberText(s.RewardLast(), 3)});
  }
  return HtmlTable("Runs", {"run", "directory", "state", "steps", "reward: first steps", "last"},
                   rows);
}

// Returns the problems that any run learns, in order.
std::vector<std::string> ProblemsOf(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> ids;
  for (const ComparedRun& run : runs) {
    for (const PlannedProblem& planned : run.plan.learned()) {
      const std::string& id = planned.problem.id();
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  }
  return ids;
}

// Returns each run's best program of each problem.
std::string BestPart(const std::vector<ComparedRun>& runs, const std::vector<std::string>& labels,
                     const std::vector<std::string>& ids) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& id : ids) {
    rows.push_back({id});
    for (const ComparedRun& run : runs) {
      const auto found = run.summary.incumbents.find(id);
      if (found == run.summary.incumbents.end()) {
        rows.back().push_back("–");
        continue;
      }
      const v1::Verdict& v = found->second.verdict;
      rows.back().push_back(
          absl::StrFormat("%.2f× (%.2f to %.2f)", v.speedup(), v.speedup_low(), v.speedup_high()));
    }
  }
  std::vector<std::string> header = {"problem"};
  header.insert(header.end(), labels.begin(), labels.end());
  return absl::StrCat(
      "<h2>Best programs</h2><p>Times as fast as the reference, with 95 % "
      "intervals.</p>",
      HtmlTable("Best programs", header, rows));
}

}  // namespace

std::string ComparisonHtml(const std::vector<ComparedRun>& runs) {
  const std::vector<std::string> labels = LabelsOf(runs);
  const std::vector<RunGroup> groups = GroupsOf(runs, labels);
  const std::vector<std::string> ids = ProblemsOf(runs);
  const std::string title = absl::StrCat("Comparison of ", absl::StrJoin(labels, ", "));
  const std::string html = absl::StrCat(PageHead(title, ReportStyle()), RunsPart(runs, labels),
                                        SettingsPart(runs, labels), CurvesPart(runs, groups),
                                        BestPart(runs, labels, ids), "<div class=\"charts\">");
  std::vector<PagePart> curves;
  for (const std::string& id : ids) {
    curves.push_back({absl::StrCat("curves of ", id),
                      GroupChart(groups, absl::StrCat("Reward of ", id), Scale::kData,
                                 ByKey(absl::StrCat("problem/", id, "/reward"))) +
                          GroupChart(groups, absl::StrCat("Best program of ", id), Scale::kFromZero,
                                     ByKey(absl::StrCat("speedup/best/", id)))});
  }
  const std::string end = "</div></body></html>\n";
  const size_t used = html.size() + end.size();
  return absl::StrCat(html,
                      PartsThatFit(curves, kPageBytesMax - std::min(kPageBytesMax, used),
                                   "<code>whet report</code> of each run has them."),
                      end);
}

}  // namespace whetstone
