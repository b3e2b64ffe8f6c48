#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/proof/verify_best.h"
#include "coordinator/report/run_summary.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct BestOptions {
  std::string root = "runs/quickstart";
  std::string problem;
  bool verify = false;
  std::optional<double> tolerance;
  bool json = false;
};

nlohmann::ordered_json VerificationJson(const Verification& v) {
  return {{"confirmed", v.confirmed},       {"reason", v.reason},
          {"speedup", v.speedup},           {"speedup_low", v.speedup_low},
          {"speedup_high", v.speedup_high}, {"tolerance", v.tolerance}};
}

// Sets *confirmed to false at the first program that is not.
absl::StatusOr<nlohmann::ordered_json> ListBest(const BestOptions& options, Console* console,
                                                bool* confirmed) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.root));
  CampaignPlan plan;
  ASSIGN_OR_RETURN(const RunSummary summary, SummarizeRun(paths, &plan));
  ASSIGN_OR_RETURN(const auto incumbents, IncumbentsOf(summary, options.problem));
  nlohmann::ordered_json best = nlohmann::ordered_json::array();
  for (const auto& [id, incumbent] : incumbents) {
    const v1::Verdict& v = incumbent.verdict;
    console->Line(absl::StrFormat("%s: %.2fx (%.2f to %.2f), step %d\n%s\n%s", id, v.speedup(),
                                  v.speedup_low(), v.speedup_high(), incumbent.step, paths.best(id),
                                  options.verify ? "" : incumbent.source));
    best.push_back({{"problem", id},
                    {"speedup", v.speedup()},
                    {"speedup_low", v.speedup_low()},
                    {"speedup_high", v.speedup_high()},
                    {"step", incumbent.step},
                    {"directory", paths.best(id)},
                    {"source", incumbent.source}});
    if (!options.verify) continue;
    ASSIGN_OR_RETURN(const Verification verification,
                     VerifyProof(paths.best(id), incumbent.source, options.tolerance,
                                 [&](const std::string& text) { console->Status(text); }));
    console->Line(verification.output);
    console->Line(absl::StrCat(
        id,
        verification.confirmed ? " is confirmed: " : " is NOT confirmed: ", verification.reason));
    best.back()["verification"] = VerificationJson(verification);
    *confirmed = *confirmed && verification.confirmed;
  }
  if (incumbents.empty()) console->Line("no program was faster than its reference yet");
  return nlohmann::ordered_json{{"run_dir", summary.run_dir}, {"best", best}};
}

int Best(const BestOptions& options) {
  Console console(options.json);
  bool confirmed = true;
  const absl::StatusOr<nlohmann::ordered_json> json = ListBest(options, &console, &confirmed);
  if (!json.ok()) return console.Fail(json.status());
  console.Result(*json);
  return confirmed ? kExitOk : kExitWrongInput;
}

}  // namespace

void AddBest(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<BestOptions>();
  CLI::App* command = app->add_subcommand(
      "best",
      "List the fastest verified programs of a run, or verify them\n\nWith --verify each program's "
      "stand-alone benchmark is built (CMake, Google Benchmark) and run: it checks\nthe outputs "
      "again, times program and reference, and confirms a speedup that is no less than recorded, "
      "within a\n"
      "tolerance. The exit code is 2 if one is not confirmed.");
  command->add_option("RUN", options->root, "Run directory")->capture_default_str();
  command->add_option("PROBLEM", options->problem, "Only this problem's program");
  CLI::Option* verify =
      command->add_flag("--verify", options->verify, "Build and run their benchmarks");
  command
      ->add_option("--tolerance", options->tolerance,
                   "How far below the recorded interval a speedup may lie; default 0.1: a tenth")
      ->check(CLI::Range(0.0, 100.0))
      ->needs(verify);
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return Best(*options); }; });
}

}  // namespace whetstone
