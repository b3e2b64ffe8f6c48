#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "coordinator/cli/commands.h"
#include "coordinator/report/run_summary.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct StatusOptions {
  std::string root;
  bool json = false;
};

absl::StatusOr<RunSummary> Summarize(const std::string& root) {
  absl::StatusOr<RunPaths> paths = RunDir::Find(root);
  if (!paths.ok()) return paths.status();
  CampaignPlan plan;
  return SummarizeRun(*paths, &plan);
}

int Status(const StatusOptions& options) {
  Console console(options.json);
  const absl::StatusOr<RunSummary> summary = Summarize(options.root);
  if (!summary.ok()) return console.Fail(summary.status());
  console.Line(SummaryText(*summary));
  if (!summary->rows.empty()) console.Line(RewardCurve(*summary));
  if (!summary->done() && !summary->owner) {
    console.Line(absl::StrCat("go on with: whet resume ", options.root));
  } else if (summary->paused_since) {
    console.Line(absl::StrCat("go on with: whet unpause ", options.root));
  }
  console.Result(SummaryJson(*summary));
  return kExitOk;
}

}  // namespace

void AddStatus(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<StatusOptions>();
  CLI::App* command =
      app->add_subcommand("status", "Where a run is, its rewards and its best programs");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return Status(*options); }; });
}

}  // namespace whetstone
