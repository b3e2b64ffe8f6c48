#include "coordinator/discover/discover_result.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/report/learning_health.h"
#include "coordinator/report/program_diff.h"
#include "coordinator/report/run_summary.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDiffLinesShown = 60;

// Says whether rules.json's `fastest` is what WriteRuleResult wrote.
bool IsWhole(const nlohmann::json& fastest) {
  if (!fastest.is_object() || !fastest.contains("source") || !fastest["source"].is_string() ||
      !fastest.contains("rules") || !fastest["rules"].is_array()) {
    return false;
  }
  for (const nlohmann::json& rule : fastest["rules"]) {
    if (!rule.is_string()) return false;
  }
  return std::ranges::all_of(
      std::vector<std::string>{"speedup", "speedup_low", "speedup_high"},
      [&](const std::string& key) { return fastest.contains(key) && fastest[key].is_number(); });
}

absl::StatusOr<std::optional<FoundProgram>> FoundByRules(const DiscoverFolder& folder,
                                                         const v1::Problem& problem) {
  std::error_code error;
  if (!fs::exists(folder.rule_result(), error)) return std::nullopt;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(folder.rule_result()));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool through = json.is_object() && json.contains("fastest");
  if (through && json["fastest"].is_null()) return std::nullopt;
  if (!through || !IsWhole(json["fastest"])) {
    return absl::DataLossError(
        absl::StrCat(folder.rule_result(), " is damaged; remove it, and rules are tried again"));
  }
  const nlohmann::json& fastest = json["fastest"];
  FoundProgram found;
  found.folder = absl::StrCat(folder.rule_proof(), "/", problem.id());
  found.source = fastest["source"].get<std::string>();
  found.speedup = fastest["speedup"].get<double>();
  found.speedup_low = fastest["speedup_low"].get<double>();
  found.speedup_high = fastest["speedup_high"].get<double>();
  found.history.push_back(
      {"rules", absl::StrJoin(fastest["rules"].get<std::vector<std::string>>(), ", then "),
       found.speedup});
  return found;
}

bool SameText(const std::string& a, const std::string& b) {
  return absl::StripAsciiWhitespace(a) == absl::StripAsciiWhitespace(b);
}

// What the campaign's policy wrote; also fills in how far the campaign is. The policy was taught
// what rules had found.
absl::StatusOr<std::optional<FoundProgram>> FoundByPolicy(const DiscoverFolder& folder,
                                                          const v1::Problem& problem,
                                                          const std::optional<FoundProgram>& rules,
                                                          DiscoverResult* result) {
  std::error_code error;
  if (!fs::exists(RunPaths(folder.run()).campaign(), error)) return std::nullopt;
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(folder.run()));
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
  result->steps_total = run.plan.campaign.train().steps();
  ASSIGN_OR_RETURN(result->steps_done, StepsDone(*run.journal));
  FoundProgram found;
  found.folder = paths.best(problem.id());
  if (rules) found.history = rules->history;
  RETURN_IF_ERROR(run.journal->ForEach([&](const JournalEntry& entry) {
    const auto* incumbent = std::get_if<IncumbentEntry>(&entry);
    if (incumbent == nullptr || !incumbent->accepted || incumbent->problem_id != problem.id()) {
      return absl::OkStatus();
    }
    const v1::Verdict& verdict = incumbent->verdict;
    const bool taught = rules && SameText(rules->source, incumbent->source);
    found.history.push_back({absl::StrCat("step ", incumbent->step),
                             taught ? "the policy, as rules made it" : "written by the policy",
                             verdict.speedup()});
    found.source = incumbent->source;
    found.speedup = verdict.speedup();
    found.speedup_low = verdict.speedup_low();
    found.speedup_high = verdict.speedup_high();
    return absl::OkStatus();
  }));
  if (!found.source.empty()) return found;
  ASSIGN_OR_RETURN(const RunSummary summary, SummarizeRun(run.plan, paths, *run.journal));
  for (const HealthFinding& finding : summary.health) {
    if (finding.kind == kNothingFaster) {
      result->why = absl::StrCat(finding.what, "\n", finding.advice, "\n");
    }
  }
  return std::nullopt;
}

// The fastest first.
absl::StatusOr<std::vector<FoundProgram>> Found(const DiscoverFolder& folder,
                                                const v1::Problem& problem,
                                                DiscoverResult* result) {
  std::vector<FoundProgram> all;
  ASSIGN_OR_RETURN(std::optional<FoundProgram> rules, FoundByRules(folder, problem));
  ASSIGN_OR_RETURN(std::optional<FoundProgram> policy,
                   FoundByPolicy(folder, problem, rules, result));
  if (policy) all.push_back(*std::move(policy));
  if (rules) all.push_back(*std::move(rules));
  std::ranges::stable_sort(all, std::ranges::greater(), &FoundProgram::speedup_low);
  return all;
}

// Runs the programs' benchmarks until one is confirmed.
void Verify(const std::function<bool()>& stopped,
            const std::function<void(const std::string&)>& status,
            std::vector<FoundProgram>* programs) {
  for (FoundProgram& program : *programs) {
    absl::StatusOr<Verification> verification =
        VerifyProof(program.folder, program.source, /*tolerance=*/std::nullopt, status, stopped);
    if (verification.ok()) {
      program.verification = *std::move(verification);
    } else {
      program.not_verified = std::string(verification.status().message());
    }
    if (program.confirmed() || stopped()) return;
  }
}

nlohmann::ordered_json HistoryJson(const FoundProgram& found) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const SpeedRecord& record : found.history) {
    json.push_back({{"when", record.when}, {"what", record.what}, {"speedup", record.speedup}});
  }
  return json;
}

// Copies the program's proof to FOLDER/best, and puts diff and history beside it.
absl::Status Publish(const DiscoverFolder& folder, const DiscoverResult& result) {
  std::error_code error;
  const std::string next = folder.best() + ".new";
  fs::remove_all(next, error);
  fs::copy(result.best->folder, next, fs::copy_options::recursive, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot copy to ", next));
  fs::remove_all(next + "/build", error);  // A build knows its place.
  RETURN_IF_ERROR(WriteFileAtomically(next + "/diff.patch", result.diff));
  RETURN_IF_ERROR(
      WriteFileAtomically(next + "/history.json", HistoryJson(*result.best).dump(2) + "\n"));
  fs::remove_all(folder.best(), error);
  fs::rename(next, folder.best(), error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make ", folder.best()));
  return absl::OkStatus();
}

std::string VerificationText(const FoundProgram& program) {
  if (!program.verification) return absl::StrCat("not proved: ", program.not_verified);
  return absl::StrCat(program.confirmed() ? "confirmed" : "NOT CONFIRMED",
                      " by its own benchmark: ", program.verification->reason);
}

}  // namespace

absl::Status WriteRuleResult(const DiscoverFolder& folder, const RewriteSearch& search,
                             const std::vector<ProvedRewrite>& proved) {
  nlohmann::ordered_json fastest = nullptr;
  if (!proved.empty() && proved[0].verdict.speedup_low() > 1) {
    const auto& [program, verdict] = proved[0];
    fastest = {{"rules", program.rules},
               {"speedup", verdict.speedup()},
               {"speedup_low", verdict.speedup_low()},
               {"speedup_high", verdict.speedup_high()},
               {"source", program.source}};
  }
  const nlohmann::ordered_json json = {
      {"measured", search.measured}, {"right", search.right}, {"fastest", std::move(fastest)}};
  return WriteFileAtomically(folder.rule_result(), json.dump(2) + "\n");
}

absl::StatusOr<int64_t> StepsDone(const Journal& journal) {
  int64_t steps = 0;
  RETURN_IF_ERROR(journal.ForEachRow([&](const MetricsRow& row) {
    if (row.name.phase() == v1::UpdateName::GRPO) ++steps;
  }));
  return steps;
}

size_t ChooseBest(const std::vector<FoundProgram>& programs) {
  const auto rank = [](const FoundProgram& program) {
    if (!program.verification) return 1;
    return program.confirmed() ? 3 : program.verification->right ? 2 : 0;
  };
  return static_cast<size_t>(std::ranges::max_element(programs, {}, rank) - programs.begin());
}

absl::StatusOr<DiscoverResult> Conclude(const DiscoverFolder& folder, const v1::Problem& problem,
                                        bool verify, const std::function<bool()>& stopped,
                                        const std::function<void(const std::string&)>& status) {
  DiscoverResult result;
  ASSIGN_OR_RETURN(std::vector<FoundProgram> all, Found(folder, problem, &result));
  if (all.empty()) return result;
  for (FoundProgram& found : all) {
    found.not_verified = "its benchmark was not run yet; the same command does";
  }
  if (verify) Verify(stopped, status, &all);
  const size_t best = ChooseBest(all);
  result.best = all[best];
  if (best > 0) result.passed_over = all.front();
  result.diff = ProgramDiff("reference.cc", problem.reference(), "found.cc", result.best->source);
  result.proof = result.best->folder;
  std::error_code error;
  if (verify || !fs::exists(folder.best(), error)) {
    RETURN_IF_ERROR(Publish(folder, result));
    result.proof = folder.best();
  }
  return result;
}

std::string ResultText(const DiscoverResult& result, const DiscoverFolder& folder) {
  std::string text;
  if (result.best) {
    const FoundProgram& best = *result.best;
    if (result.passed_over) {
      absl::StrAppendFormat(&text, "passed over, measured at %.2fx: %s\n",
                            result.passed_over->speedup, VerificationText(*result.passed_over));
    }
    absl::StrAppendFormat(&text, "fastest program: %.2fx as fast as what was given (%.2f to %.2f)",
                          best.speedup, best.speedup_low, best.speedup_high);
    absl::StrAppend(&text, "\n", VerificationText(best), "\nwhat came when:\n");
    for (const SpeedRecord& record : best.history) {
      absl::StrAppendFormat(&text, "  %-8s %7.2fx  %s\n", record.when, record.speedup, record.what);
    }
    std::vector<std::string> lines =
        absl::StrSplit(absl::StripTrailingAsciiWhitespace(result.diff), '\n');
    if (lines.size() > kDiffLinesShown) {
      const size_t more = lines.size() - kDiffLinesShown;
      lines.resize(kDiffLinesShown);
      lines.push_back(absl::StrCat("… ", more, " more lines"));
    }
    absl::StrAppend(&text, absl::StrJoin(lines, "\n"), "\nproof: sh ", result.proof, "/run.sh\n");
  } else {
    absl::StrAppend(&text, "nothing faster than what was given was ",
                    result.unproved_speedup ? "proved yet\n" : "found\n", result.why);
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
    absl::StrAppend(&text,
                    "the campaign is through; in another --out a larger --budget plans more steps, "
                    "and --set seed=N searches elsewhere");
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
  if (!result.why.empty()) json["why"] = result.why;
  if (!result.best) return json;
  const FoundProgram& best = *result.best;
  json["speedup"] = best.speedup;
  json["speedup_low"] = best.speedup_low;
  json["speedup_high"] = best.speedup_high;
  if (best.verification) json["confirmed"] = best.confirmed();
  json["reason"] = best.verification ? best.verification->reason : best.not_verified;
  json["proof"] = result.proof;
  json["history"] = HistoryJson(best);
  json["source"] = best.source;
  return json;
}

}  // namespace whetstone
