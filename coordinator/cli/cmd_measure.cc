#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/durable/reward.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/prompt/prompt_sections.h"
#include "coordinator/proof/best.h"
#include "coordinator/report/verdict_json.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct MeasureOptions {
  std::string problem;
  std::string candidate;
  std::string list;   // where it is not empty, problem and candidate are
  std::string proof;  // where it is empty, none is written
  bool fresh = false;
  bool json = false;
};

// Returns "40 seconds", "7 minutes" or "3 hours".
std::string AgeText(double seconds) {
  const int whole = static_cast<int>(seconds);
  const auto [number, unit] = whole < 60     ? std::pair(whole, "second")
                              : whole < 3600 ? std::pair(whole / 60, "minute")
                                             : std::pair(whole / 3600, "hour");
  return absl::StrCat(number, " ", unit, number == 1 ? "" : "s");
}

std::string VerdictText(const nlohmann::ordered_json& json) {
  std::string text = absl::StrFormat("%s  reward %.3f", json["outcome"].get<std::string>(),
                                     json["reward"].is_number() ? json["reward"].get<double>() : 0);
  if (json["speedup"].is_number()) {
    absl::StrAppend(
        &text,
        absl::StrFormat("  speedup %.3fx (%.3f to %.3f)", json["speedup"].get<double>(),
                        json["speedup_low"].get<double>(), json["speedup_high"].get<double>()));
  }
  for (const auto& size : json["sizes"]) {
    std::vector<std::string> values;
    for (const auto& [name, value] : size["size"].items()) {
      values.push_back(absl::StrCat(name, "=", value.get<int64_t>()));
    }
    absl::StrAppend(
        &text,
        absl::StrFormat("\n  %-20s %8.3fx  reference %.0f ns, candidate %.0f ns",
                        absl::StrJoin(values, " "), size["speedup"].get<double>(),
                        size["reference_ns"].get<double>(), size["candidate_ns"].get<double>()));
  }
  const std::string detail = json["detail"].get<std::string>();
  if (!detail.empty()) absl::StrAppend(&text, "\n", detail);
  return text;
}

absl::StatusOr<nlohmann::ordered_json> Measure(const MeasureOptions& options, Console* console) {
  ASSIGN_OR_RETURN(const v1::Problem problem, ParsePromptFile(options.problem));
  ASSIGN_OR_RETURN(const std::string source, ReadFile(options.candidate));
  RETURN_IF_ERROR(CheckUtf8(source, options.candidate));
  ASSIGN_OR_RETURN(const v1::Campaign defaults,
                   ParseCampaign("name: x\nmodel: /x\nproblems: [x]\n", "defaults", "/", {}));
  console->Status("starting a worker");
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalWorker> worker, LocalWorker::Start());
  console->Status("preparing the problem, and measuring its expert unless that was kept");
  const double begun = UnixSeconds();
  absl::StatusOr<v1::Calibration> calibration = worker->Put(
      problem, options.fresh ? v1::PutProblemRequest::RENEWED : v1::PutProblemRequest::KEPT);
  if (!calibration.ok()) {
    return absl::Status(calibration.status().code(),
                        absl::StrCat(options.problem, ": ", calibration.status().message()));
  }
  const double age_s = std::max(0.0, begun - calibration->unix_time());
  if (age_s > 0) {
    console->Line(
        absl::StrCat("calibration of ", AgeText(age_s), " ago kept; --fresh measures it anew"));
  }
  console->Status("measuring the candidate");
  ASSIGN_OR_RETURN(const v1::Verdict verdict,
                   worker->Measure(problem, source, /*time=*/true, /*fresh=*/true));
  const Reward reward = RewardOf(verdict, defaults.reward(), calibration->expert().speedup(),
                                 calibration->noise_band());
  if (!options.proof.empty()) {
    if (verdict.outcome() != v1::CORRECT) {
      console->Notice("no proof is written: the program is not CORRECT");
    } else {
      RETURN_IF_ERROR(
          WriteProof(options.proof, problem, source, verdict, {{"program", options.candidate}}));
      console->Line(absl::StrCat("proof: sh ", options.proof, "/run.sh"));
    }
  }
  nlohmann::ordered_json json = VerdictJson(verdict);
  json["reward"] =
      reward.dropped ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(reward.value);
  const double expert = calibration->expert().speedup();
  json["expert_speedup"] = expert > 0 ? nlohmann::ordered_json(expert) : nullptr;
  json["calibration_age_s"] = age_s;
  json["problem"] = problem.id();
  return json;
}

// A ListedPair is one line of --list.
struct ListedPair {
  std::string id;  // "LIST:LINE" where the line gives none
  std::string problem;
  std::string candidate;
};

absl::StatusOr<std::vector<ListedPair>> ReadList(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<ListedPair> pairs;
  int number = 0;
  for (const absl::string_view piece : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(piece);
    if (line.empty()) continue;
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return PromptError(path, number, "must be one JSON object");
    ListedPair pair{.id = absl::StrCat(path, ":", number), .problem = "", .candidate = ""};
    for (const auto& [key, value] : json.items()) {
      std::string* field = key == "id"          ? &pair.id
                           : key == "problem"   ? &pair.problem
                           : key == "candidate" ? &pair.candidate
                                                : nullptr;
      if (field == nullptr || !value.is_string()) {
        return PromptError(path, number,
                           absl::StrCat("'", key, "' must be id, problem or candidate, a string"));
      }
      *field = value.get<std::string>();
    }
    if (pair.problem.empty() || pair.candidate.empty()) {
      return PromptError(path, number, "'problem' or 'candidate' is missing");
    }
    pairs.push_back(std::move(pair));
  }
  if (pairs.empty()) return PromptError(path, 1, "the file names no program");
  return pairs;
}

absl::StatusOr<nlohmann::ordered_json> MeasurePair(const ListedPair& pair, LocalWorker* worker) {
  ASSIGN_OR_RETURN(const v1::Problem problem, ParsePromptFile(pair.problem));
  ASSIGN_OR_RETURN(const std::string source, ReadFile(pair.candidate));
  RETURN_IF_ERROR(CheckUtf8(source, pair.candidate));
  if (const absl::Status ready = worker->PutUncalibrated(problem).status(); !ready.ok()) {
    return absl::Status(ready.code(), absl::StrCat(pair.problem, ": ", ready.message()));
  }
  ASSIGN_OR_RETURN(const v1::Verdict verdict,
                   worker->Measure(problem, source, /*time=*/true, /*fresh=*/false));
  nlohmann::ordered_json json = {{"id", pair.id}, {"problem", problem.id()}};
  json.update(VerdictJson(verdict));
  return json;
}

// Measures one pair after the other; one that is wrong does not keep the others from it.
int RunList(const MeasureOptions& options) {
  Console console(options.json);
  const absl::StatusOr<std::vector<ListedPair>> pairs = ReadList(options.list);
  if (!pairs.ok()) return console.Fail(pairs.status());
  console.Status("starting a worker");
  const absl::StatusOr<std::unique_ptr<LocalWorker>> worker = LocalWorker::Start();
  if (!worker.ok()) return console.Fail(worker.status());
  int wrong = 0;
  for (const ListedPair& pair : *pairs) {
    const absl::StatusOr<nlohmann::ordered_json> json = MeasurePair(pair, worker->get());
    if (json.ok()) {
      const auto& speedup = (*json)["speedup"];
      console.Line(absl::StrCat(
          pair.id, "  ", (*json)["outcome"].get<std::string>(),
          speedup.is_number() ? absl::StrFormat("  %.3fx", speedup.get<double>()) : ""));
      console.Result(*json);
    } else if (ExitCodeOf(json.status()) == kExitWrongInput) {
      ++wrong;
      console.Line(absl::StrCat(pair.id, "  FAILED ", json.status().message()));
      console.Result({{"id", pair.id}, {"error", json.status().message()}});
    } else {
      return console.Fail(json.status());
    }
  }
  return wrong > 0 ? kExitWrongInput : kExitOk;
}

int RunMeasure(const MeasureOptions& options) {
  if (!options.list.empty()) return RunList(options);
  Console console(options.json);
  if (options.problem.empty() || options.candidate.empty()) {
    return console.Fail(absl::InvalidArgumentError(
        "name a PROBLEM and a CANDIDATE, or a file of such pairs with --list"));
  }
  const absl::StatusOr<nlohmann::ordered_json> json = Measure(options, &console);
  if (!json.ok()) return console.Fail(json.status());
  console.Line(VerdictText(*json));
  console.Result(*json);
  return kExitOk;
}

}  // namespace

void AddMeasure(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<MeasureOptions>();
  CLI::App* command = app->add_subcommand(
      "measure",
      "Measure one program by hand\n\nStarts a worker on this machine, checks the candidate in the "
      "sandbox and times it against the\nreference. The problem's calibration is kept for a day, "
      "for "
      "this boot and build. The exit code is 0\nwhenever a verdict was reached, whatever it is.");
  CLI::Option* problem = command->add_option("PROBLEM", options->problem, "Prompt file");
  command->add_option("CANDIDATE", options->candidate, "C++ source that defines the function");
  CLI::Option* list =
      command->add_option("--list", options->list,
                          "JSON lines {\"id\", \"problem\", \"candidate\"} to measure one after "
                          "the other instead, as far "
                          "as it takes to be clear and without the experts, so without rewards");
  list->type_name("FILE")->excludes(problem);
  CLI::Option* proof =
      command
          ->add_option(
              "--proof", options->proof,
              "Write a stand-alone benchmark of the program to this folder, as in RUN/best")
          ->type_name("FOLDER");
  CLI::Option* fresh =
      command->add_flag("--fresh", options->fresh,
                        "Calibrate anew instead of taking what this host kept, for a day at most");
  list->excludes(proof)->excludes(fresh);
  command->add_flag("--json", options->json,
                    "End with one JSON object on stdout; with --list, one for each pair");
  command->callback([=] { selected->run = [=] { return RunMeasure(*options); }; });
}

}  // namespace whetstone
