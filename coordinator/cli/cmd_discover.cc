#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/cli/commands.h"
#include "coordinator/discover/discover.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {
namespace {

struct DiscoverCommand {
  DiscoverOptions options;
  std::string budget = "15m";
  bool json = false;
};

int RunDiscover(DiscoverCommand command) {
  static StopSignals* const signals = new StopSignals;
  Console console(command.json);
  const absl::StatusOr<Budget> budget = ParseBudget(command.budget);
  if (!budget.ok()) return console.Fail(budget.status());
  command.options.budget = *budget;
  const absl::StatusOr<Discovery> found = Discover(command.options, signals, &console);
  if (!found.ok()) return console.Fail(found.status());
  const DiscoverResult& result = found->result;
  console.Line(ResultText(result, found->folder));
  nlohmann::ordered_json json = ResultJson(result, found->folder);
  if (!found->campaign.ok()) {
    console.Notice(absl::StrCat("the campaign failed: ", found->campaign.message()));
    json["error"] = found->campaign.message();
  }
  console.Result(json);
  if (found->stopped) return kExitStopped;
  if (!found->campaign.ok()) return ExitCodeOf(found->campaign);
  const bool refuted = result.best && result.best->verification && !result.best->confirmed();
  return refuted ? kExitWrongInput : kExitOk;
}

}  // namespace

void AddDiscover(CLI::App* app, SelectedCommand* selected) {
  const auto command = std::make_shared<DiscoverCommand>();
  CLI::App* discover = app->add_subcommand(
      "discover",
      "Find a faster form of one C++ function\n\nThe function is imported and its check is shown; "
      "once you approve it, rules rewrite the function,\na policy is taught the fastest forms and "
      "learns to write faster ones, and the fastest program\nof all is proved by a benchmark that "
      "needs nothing of Whetstone. Ctrl-C keeps what was found;\nthe same command goes on. Exit "
      "code 2 also says that the benchmark does not confirm the program.");
  discover
      ->add_option("FILE", command->options.file, "C++ source with the function, or a prompt file")
      ->required();
  discover->add_option("--function", command->options.function,
                       "Which one, if the file has several");
  discover
      ->add_option("--generator", command->options.generator,
                   "C++ source with a function that makes inputs which must fit together "
                   "(docs/discovery.md)")
      ->type_name("FILE");
  discover
      ->add_option("--answer", command->options.answers,
                   "The answer to one of the import's questions, as of whet problem import")
      ->type_name("QUESTION=ANSWER")
      ->expected(1)
      ->take_all();
  discover->add_flag("--yes", command->options.yes,
                     "Approve the problem as it is and what an endpoint may be asked, and ask "
                     "nothing");
  discover
      ->add_option("--budget", command->budget,
                   "What this call may spend, from the approval on: 90s, 20m, 1.5h, or '2000 "
                   "candidates' in all; the step or program under way ends")
      ->capture_default_str();
  discover->add_option("--out", command->options.out, "Folder (default runs/discover-NAME)")
      ->type_name("FOLDER");
  CLI::Option* const endpoint =
      discover->add_option("--endpoint", command->options.endpoint,
                           "Base URL of a server with OpenAI's chat completions: --model there "
                           "writes programs, in the place of a policy that learns");
  CLI::Option* const model =
      discover->add_option("--model", command->options.model, "The model's name at --endpoint");
  endpoint->needs(model);
  model->needs(endpoint);
  discover
      ->add_option("--campaign", command->options.campaign,
                   "Campaign file of the search (default deploy/discover.yaml, with --endpoint "
                   "deploy/endpoint.yaml); its name, problem, warmup.rewrites or "
                   "search.rewrites, and train.steps are set here")
      ->type_name("FILE");
  discover
      ->add_option("--set", command->options.sets, "Changes a key of the campaign; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  discover->add_flag("--json", command->json, "End with one JSON object on stdout");
  discover->callback([=] { selected->run = [=] { return RunDiscover(*command); }; });
}

}  // namespace whetstone
