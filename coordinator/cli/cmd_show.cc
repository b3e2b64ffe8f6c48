#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/report/rollout_view.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct ShowOptions {
  std::string root;
  std::string which = "best";
  std::string problem;
  RolloutParts parts;
  bool json = false;
};

absl::StatusOr<RolloutView> View(const ShowOptions& options) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.root));
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
  return ViewRollout(run.plan, *run.journal, options.which, options.problem);
}

int Show(const ShowOptions& options) {
  Console console(options.json);
  console.Status("reading the journal");
  const absl::StatusOr<RolloutView> view = View(options);
  if (!view.ok()) return console.Fail(view.status());
  // With --json the object has it all, and is long enough.
  if (!options.json) console.Line(RolloutText(*view, options.parts));
  console.Result(RolloutJson(*view));
  return kExitOk;
}

}  // namespace

void AddShow(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* command = app->add_subcommand(
      "show",
      "Show one rollout: what was written, what it was measured at, what it changes\n\nWhile the "
      "run goes on or after it; the run is only read. --json has all of it.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command
      ->add_option("ROLLOUT", options->which,
                   "STEP/GROUP/SAMPLE as in 12/0/3, eval-10/0/3 of the evaluation after ten steps, "
                   "or best or worst, by reward")
      ->capture_default_str();
  command->add_option("--problem", options->problem, "The best or worst of this problem")
      ->type_name("PROBLEM");
  command->add_flag("--prompt", options->parts.prompt, "Also what the policy was asked");
  command->add_flag("--tokens", options->parts.tokens,
                    "Also its tokens' ids and log-probabilities");
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return Show(*options); }; });
}

}  // namespace whetstone
