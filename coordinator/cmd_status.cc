// whet status, whet best
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/commands.h"
#include "coordinator/console.h"
#include "coordinator/run_summary.h"

namespace whetstone {
namespace {

struct Options {
  std::string root;
  bool json = false;
};

absl::StatusOr<RunSummary> Summarize(const std::string& root) {
  absl::StatusOr<RunPaths> paths = RunDir::Find(root);
  if (!paths.ok()) return paths.status();
  CampaignPlan plan;
  return SummarizeRun(*paths, &plan);
}

int Status(const Options& options) {
  Console console(options.json);
  const absl::StatusOr<RunSummary> summary = Summarize(options.root);
  if (!summary.ok()) return console.Fail(summary.status());
  console.Line(SummaryText(*summary));
  if (!summary->rows.empty()) console.Line(RewardCurve(*summary));
  if (!summary->done() && summary->in_use_by == 0) {
    console.Line(absl::StrCat("go on with: whet resume ", options.root));
  }
  console.Result(SummaryJson(*summary));
  return kExitOk;
}

int Best(const Options& options) {
  Console console(options.json);
  const absl::StatusOr<RunSummary> summary = Summarize(options.root);
  if (!summary.ok()) return console.Fail(summary.status());
  nlohmann::ordered_json best = nlohmann::ordered_json::array();
  const RunPaths paths(summary->run_dir);
  for (const auto& [id, leader] : summary->leaders) {
    const v1::Verdict& v = leader.verdict;
    console.Line(absl::StrFormat("%s: %.2fx (%.2f to %.2f), step %d\n%s\n%s", id, v.speedup(),
                                 v.speedup_low(), v.speedup_high(), leader.step, paths.best(id),
                                 leader.source));
    best.push_back({{"problem", id},
                    {"speedup", v.speedup()},
                    {"speedup_low", v.speedup_low()},
                    {"speedup_high", v.speedup_high()},
                    {"step", leader.step},
                    {"directory", paths.best(id)},
                    {"source", leader.source}});
  }
  if (summary->leaders.empty()) console.Line("no program was faster than its reference yet");
  console.Result({{"run_dir", summary->run_dir}, {"best", best}});
  return kExitOk;
}

void Add(CLI::App* app, Chosen* chosen, const char* name, const char* about,
         int (*run)(const Options&)) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app->add_subcommand(name, about);
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { chosen->run = [=] { return run(*options); }; });
}

}  // namespace

void AddStatus(CLI::App* app, Chosen* chosen) {
  Add(app, chosen, "status", "Where a run is, its rewards and its best programs", Status);
}

void AddBest(CLI::App* app, Chosen* chosen) {
  Add(app, chosen, "best", "List the fastest verified programs of a run", Best);
}

}  // namespace whetstone
