#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/config/setting_changes.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/report/rescore.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct RescoreOptions {
  std::string root;
  std::vector<std::string> sets;
  bool json = false;
};

absl::StatusOr<Rescored> RescoreRun(const RescoreOptions& options) {
  for (const std::string& set : options.sets) {
    if (absl::StartsWith(set, "reward.") || absl::StartsWith(set, "reward=")) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--set ", set,
                     ": only keys of 'reward' can be other than they were, as in --set "
                     "reward.wrong_slope=0; everything else is in the journal already"));
  }
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.root));
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
  ASSIGN_OR_RETURN(const v1::Campaign campaign, WithSettings(run.plan.campaign, options.sets));
  CampaignPlan rescored = run.plan;
  *rescored.campaign.mutable_reward() = campaign.reward();
  return Rescore(run.plan, rescored, *run.journal);
}

int RunRescore(const RescoreOptions& options) {
  Console console(options.json);
  const absl::StatusOr<Rescored> rescored = RescoreRun(options);
  if (!rescored.ok()) return console.Fail(rescored.status());
  console.Line(RescoredText(*rescored));
  console.Result(RescoredJson(*rescored));
  return kExitOk;
}

}  // namespace

void AddRescore(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<RescoreOptions>();
  CLI::App* command = app->add_subcommand(
      "rescore", "What another reward would have paid for a run's rollouts, from its journal");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_option("--set", options->sets, "Another value of the reward; may be repeated")
      ->type_name("reward.KEY=VALUE")
      ->required();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return RunRescore(*options); }; });
}

}  // namespace whetstone
