#include "coordinator/discover/discover_result.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/process/child_process.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kDiffDeadline{20};
constexpr size_t kDiffLinesShown = 60;

absl::StatusOr<std::optional<FoundProgram>> FoundByRules(const DiscoverFolder& folder,
                                                         const v1::Problem& problem) {
  std::error_code error;
  if (!fs::exists(folder.rule_result(), error)) return std::nullopt;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(folder.rule_result()));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("fastest")) {
    return absl::DataLossError(
        absl::StrCat(folder.rule_result(), " is damaged; remove it, and rules are tried again"));
  }
  const nlohmann::json& fastest = json["fastest"];
  if (fastest.is_null()) return std::nullopt;
  FoundProgram found;
  found.folder = absl::StrCat(folder.rule_proof(), "/", problem.id());
  found.source = fastest.value("source", "");
  found.speedup = fastest.value("speedup", 1.0);
  found.speedup_low = fastest.value("speedup_low", 1.0);
  found.speedup_high = fastest.value("speedup_high", 1.0);
  found.lineage.push_back(
      {"rules", absl::StrJoin(fastest.value("rules", std::vector<std::string>()), ", then "),
       found.speedup});
  return found;
}

// What the campaign's policy wrote; also fills in how far the campaign is.
absl::StatusOr<std::optional<FoundProgram>> FoundByPolicy(const DiscoverFolder& folder,
                                                          const v1::Problem& problem,
                                                          DiscoverResult* result) {
  std::error_code error;
  if (!fs::exists(RunPaths(folder.run()).campaign(), error)) return std::nullopt;
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(folder.run()));
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
  result->steps_total = run.plan.campaign.train().steps();
  RETURN_IF_ERROR(run.journal->ForEachRow([&](const MetricsRow& row) {
    if (row.name.phase() == v1::UpdateName::GRPO) ++result->steps_done;
  }));
  std::optional<FoundProgram> found;
  std::vector<LineageStep> lineage;
  RETURN_IF_ERROR(run.journal->ForEach([&](const JournalEntry& entry) {
    const auto* incumbent = std::get_if<IncumbentEntry>(&entry);
    if (incumbent == nullptr || !incumbent->accepted || incumbent->problem_id != problem.id()) {
      return absl::OkStatus();
    }
    const v1::Verdict& verdict = incumbent->verdict;
    lineage.push_back(
        {absl::StrCat("step ", incumbent->step), "written by the policy", verdict.speedup()});
    found = FoundProgram{paths.best(incumbent->problem_id),
                         incumbent->source,
                         verdict.speedup(),
                         verdict.speedup_low(),
                         verdict.speedup_high(),
                         {}};
    return absl::OkStatus();
  }));
  if (found) found->lineage = std::move(lineage);
  return found;
}

absl::StatusOr<std::vector<FoundProgram>> Found(const DiscoverFolder& folder,
                                                const v1::Problem& problem,
                                                DiscoverResult* result) {
  std::vector<FoundProgram> all;
  ASSIGN_OR_RETURN(std::optional<FoundProgram> rules, FoundByRules(folder, problem));
  ASSIGN_OR_RETURN(std::optional<FoundProgram> policy, FoundByPolicy(folder, problem, result));
  if (policy) {
    // The policy was taught what rules had found.
    if (rules) policy->lineage.insert(policy->lineage.begin(), rules->lineage[0]);
    all.push_back(*std::move(policy));
  }
  if (rules) all.push_back(*std::move(rules));
  std::stable_sort(all.begin(), all.end(), [](const FoundProgram& a, const FoundProgram& b) {
    return a.speedup_low > b.speedup_low;
  });
  return all;
}

// Returns a unified diff of two programs; empty where diff is not installed.
absl::StatusOr<std::string> Diff(const std::string& given, const std::string& found) {
  ASSIGN_OR_RETURN(const TempDir work, TempDir::Make("whet-diff"));
  const std::string before = work.path() + "/given.cc";
  const std::string after = work.path() + "/found.cc";
  RETURN_IF_ERROR(WriteFileAtomically(before, absl::StrCat(given, "\n")));
  RETURN_IF_ERROR(WriteFileAtomically(after, absl::StrCat(found, "\n")));
  ChildOptions options;
  options.argv = {"diff", "-u", "-B", "--label", "given.cc", "--label", "found.cc", before, after};
  options.log_path = work.path() + "/diff";
  const absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(options);
  if (absl::IsNotFound(child.status())) return "";
  RETURN_IF_ERROR(child.status());
  if (!(*child)->Wait(kDiffDeadline)) return absl::DeadlineExceededError("diff took over 20 s");
  return ReadFile(options.log_path);
}

nlohmann::ordered_json LineageJson(const FoundProgram& found) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const LineageStep& step : found.lineage) {
    json.push_back({{"when", step.when}, {"what", step.what}, {"speedup", step.speedup}});
  }
  return json;
}

// Copies the program's proof to FOLDER/best, and puts diff and lineage beside it.
absl::Status Publish(const DiscoverFolder& folder, const DiscoverResult& result) {
  std::error_code error;
  const std::string next = folder.best() + ".new";
  fs::remove_all(next, error);
  fs::copy(result.best->folder, next, fs::copy_options::recursive, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot copy to ", next));
  fs::remove_all(next + "/build", error);  // A build knows its place.
  RETURN_IF_ERROR(WriteFileAtomically(next + "/diff.patch", result.diff));
  RETURN_IF_ERROR(
      WriteFileAtomically(next + "/lineage.json", LineageJson(*result.best).dump(2) + "\n"));
  fs::remove_all(folder.best(), error);
  fs::rename(next, folder.best(), error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make ", folder.best()));
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteRuleResult(const DiscoverFolder& folder, const RewriteSearch& search,
                             const std::optional<v1::Verdict>& verdict) {
  nlohmann::ordered_json fastest = nullptr;
  if (search.fastest && verdict) {
    fastest = {{"rules", search.fastest->rules},
               {"speedup", verdict->speedup()},
               {"speedup_low", verdict->speedup_low()},
               {"speedup_high", verdict->speedup_high()},
               {"source", search.fastest->source}};
  }
  const nlohmann::ordered_json json = {
      {"measured", search.measured}, {"right", search.right}, {"fastest", std::move(fastest)}};
  return WriteFileAtomically(folder.rule_result(), json.dump(2) + "\n");
}

absl::StatusOr<DiscoverResult> Conclude(const DiscoverFolder& folder, const v1::Problem& problem,
                                        bool verify,
                                        const std::function<void(const std::string&)>& status) {
  DiscoverResult result;
  ASSIGN_OR_RETURN(const std::vector<FoundProgram> all, Found(folder, problem, &result));
  if (all.empty()) return result;
  result.best = all.front();
  result.not_verified = "it was not run outside of Whetstone yet";
  for (const FoundProgram& found : verify ? all : std::vector<FoundProgram>()) {
    const absl::StatusOr<Verification> verification =
        VerifyProof(found.folder, found.source, /*tolerance=*/std::nullopt, status);
    if (!verification.ok()) {
      result.not_verified = std::string(verification.status().message());
      continue;
    }
    if (!result.verification) result.verification = *verification;  // That of the fastest.
    if (!verification->confirmed) continue;
    result.best = found;
    result.verification = *verification;
    break;
  }
  ASSIGN_OR_RETURN(result.diff, Diff(problem.reference(), result.best->source));
  std::error_code error;
  if (verify || !fs::exists(folder.best(), error)) RETURN_IF_ERROR(Publish(folder, result));
  return result;
}

std::string ResultText(const DiscoverResult& result, const DiscoverFolder& folder) {
  std::string text;
  if (result.best) {
    const FoundProgram& best = *result.best;
    absl::StrAppendFormat(&text, "fastest program: %.2fx as fast as what was given (%.2f to %.2f)",
                          best.speedup, best.speedup_low, best.speedup_high);
    absl::StrAppend(&text, "\n");
    if (result.verification) {
      absl::StrAppend(&text, result.verification->confirmed ? "confirmed" : "NOT CONFIRMED",
                      " by its own benchmark: ", result.verification->reason, "\n");
    } else {
      absl::StrAppend(&text, "not proved: ", result.not_verified, "\n");
    }
    absl::StrAppend(&text, "how it came about:\n");
    for (const LineageStep& step : best.lineage) {
      absl::StrAppendFormat(&text, "  %-8s %7.2fx  %s\n", step.when, step.speedup, step.what);
    }
    std::vector<std::string> lines = absl::StrSplit(result.diff, '\n');
    const bool cut = lines.size() > kDiffLinesShown;
    if (cut) lines.resize(kDiffLinesShown);
    absl::StrAppend(&text, absl::StrJoin(lines, "\n"),
                    cut ? absl::StrCat("\n… all of it: ", folder.best(), "/diff.patch\n") : "",
                    "proof: sh ", folder.best(), "/run.sh\n");
  } else {
    absl::StrAppend(&text, "nothing faster than what was given was ",
                    result.unproved_speedup ? "proved yet\n" : "found\n");
  }
  if (result.unproved_speedup) {
    absl::StrAppendFormat(&text, "rules are not through; so far %.2fx, not proved yet\n",
                          *result.unproved_speedup);
  }
  if (result.steps_total > 0) {
    absl::StrAppend(&text, "campaign: ", result.steps_done, " of ", result.steps_total,
                    " steps, whet report ", folder.run(), "\n");
  }
  if (result.steps_total == 0 || result.steps_done < result.steps_total) {
    absl::StrAppend(&text,
                    "the same command goes on; a budget of candidates has to be a larger one");
  } else {
    absl::StrAppend(
        &text,
        "the campaign is through; in another --out a larger --budget plans more steps, and "
        "--set seed=N searches elsewhere");
  }
  return text;
}

nlohmann::ordered_json ResultJson(const DiscoverResult& result, const DiscoverFolder& folder) {
  nlohmann::ordered_json json = {{"folder", folder.root()},
                                 {"run_dir", folder.run()},
                                 {"steps_done", result.steps_done},
                                 {"steps_total", result.steps_total},
                                 {"speedup", 1.0},
                                 {"confirmed", nullptr}};
  if (result.unproved_speedup) json["unproved_speedup"] = *result.unproved_speedup;
  if (!result.best) return json;
  json["speedup"] = result.best->speedup;
  json["speedup_low"] = result.best->speedup_low;
  json["speedup_high"] = result.best->speedup_high;
  if (result.verification) json["confirmed"] = result.verification->confirmed;
  json["proof"] = folder.best();
  json["lineage"] = LineageJson(*result.best);
  json["source"] = result.best->source;
  return json;
}

}  // namespace whetstone
