#include "coordinator/report/run_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/terminal/text_table.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

constexpr int kFoldersBelow = 2;

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// One without a journal ended before it began, or lost it.
bool IsRun(const RunPaths& paths) {
  return Exists(paths.journal()) || (Exists(paths.campaign()) && Exists(paths.lock()));
}

void AddRuns(const fs::path& folder, int below, std::vector<std::string>* runs) {
  if (IsRun(RunPaths(folder.string()))) {
    runs->push_back(folder.string());
    return;
  }
  std::error_code error;  // One that may not be read has no runs to show.
  for (fs::directory_iterator it(folder, error), end; below > 0 && !error && it != end;
       it.increment(error)) {
    std::error_code unknown;
    if (it->is_directory(unknown)) AddRuns(it->path(), below - 1, runs);
  }
}

absl::Time LastWritten(const RunPaths& paths) {
  absl::Time last = absl::UnixEpoch();
  for (const std::string& file : {paths.journal(), paths.journal() + "-wal", paths.lock()}) {
    struct stat found = {};
    // An empty one is what readers leave.
    if (stat(file.c_str(), &found) == 0 && found.st_size > 0)
      last = std::max(last, absl::TimeFromTimespec(found.st_mtim));
  }
  return last;
}

// Returns "12 s", "3 min", "5 h" or "4 d".
std::string AgeText(absl::Duration age) {
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(age));
  if (seconds < 100) return absl::StrFormat("%.0f s", seconds);
  if (seconds < 100 * 60) return absl::StrFormat("%.0f min", seconds / 60);
  if (seconds < 48 * 3600) return absl::StrFormat("%.0f h", seconds / 3600);
  return absl::StrFormat("%.0f d", seconds / 86400);
}

std::string RewardsText(const RunSummary& s) {
  if (s.rows.empty()) return "";
  if (s.rows.size() == 1) return absl::StrFormat("%.2f", s.RewardLast());
  return absl::StrFormat("%.2f → %.2f", s.RewardFirst(), s.RewardLast());
}

std::string BestText(const RunSummary& s) {
  const auto best = std::ranges::max_element(
      s.incumbents, {}, [](const auto& each) { return each.second.verdict.speedup(); });
  if (best == s.incumbents.end()) return "";
  return absl::StrFormat("%.2f× %s", best->second.verdict.speedup(), best->first);
}

std::string StateText(const RunSummary& s, absl::Time now) {
  const std::string state = s.state();
  return state == "paused" ? absl::StrCat("paused for ", AgeText(now - *s.paused_since)) : state;
}

// Returns the kinds of what is wrong, "cut_off, no_variety"; status says more.
std::string AlarmsText(const RunSummary& s) {
  std::vector<std::string> kinds;
  for (const HealthFinding& finding : s.health) {
    if (std::ranges::count(kinds, finding.kind) == 0) kinds.push_back(finding.kind);
  }
  return absl::StrJoin(kinds, ", ");
}

std::string FirstLine(absl::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindRuns(const std::string& folder) {
  std::error_code error;
  const fs::directory_iterator readable(folder, error);
  if (error) return absl::ErrnoToStatus(error.value(), folder);
  std::vector<std::string> runs;
  AddRuns(folder, kFoldersBelow, &runs);
  std::ranges::sort(runs);
  return runs;
}

ListedRun ListRun(const std::string& path) {
  ListedRun run;
  run.path = path;
  run.active = LastWritten(RunPaths(path));
  const absl::StatusOr<RunPaths> paths = RunDir::Find(path);
  CampaignPlan plan;
  run.summary = paths.ok() ? SummarizeRun(*paths, &plan) : paths.status();
  return run;
}

std::string RunListText(const std::vector<ListedRun>& runs, absl::Time now) {
  std::vector<std::vector<std::string>> rows = {
      {"RUN", "STATE", "STEPS", "REWARD", "BEST", "WRITTEN", "ALARMS"}};
  std::string unreadable;
  for (const ListedRun& run : runs) {
    const std::string age = absl::StrCat(AgeText(now - run.active), " ago");
    if (!run.summary.ok()) {
      rows.push_back({run.path, "unreadable", "", "", "", age, ""});
      absl::StrAppend(&unreadable, "\n! ", FirstLine(run.summary.status().message()));
      continue;
    }
    const RunSummary& s = *run.summary;
    const bool warming = s.warmup_done < s.warmup_total;
    rows.push_back({run.path, StateText(s, now),
                    warming ? absl::StrCat("warm-up ", s.warmup_done, "/", s.warmup_total)
                            : absl::StrCat(s.steps_done, "/", s.steps_total),
                    RewardsText(s), BestText(s), age, AlarmsText(s)});
  }
  return absl::StrCat(TextTable(std::move(rows)), unreadable);
}

nlohmann::ordered_json RunListJson(const std::vector<ListedRun>& runs, absl::Time now) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ListedRun& run : runs) {
    nlohmann::ordered_json json =
        run.summary.ok() ? SummaryJson(*run.summary)
                         : nlohmann::ordered_json{{"run_dir", RunPaths(run.path).root()},
                                                  {"error", run.summary.status().message()}};
    json["age_s"] = absl::ToDoubleSeconds(now - run.active);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace whetstone
