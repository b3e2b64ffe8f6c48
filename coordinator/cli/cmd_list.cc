#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "coordinator/cli/commands.h"
#include "coordinator/report/run_list.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct ListOptions {
  std::string folder = "runs";
  bool json = false;
};

int List(const ListOptions& options) {
  Console console(options.json);
  const absl::StatusOr<std::vector<std::string>> found = FindRuns(options.folder);
  if (!found.ok()) return console.Fail(found.status());
  std::vector<ListedRun> runs;
  for (const std::string& path : *found) {
    console.Status(
        absl::StrCat("reading run ", runs.size() + 1, " of ", found->size(), ": ", path));
    runs.push_back(ListRun(path));
  }
  const absl::Time now = absl::Now();
  console.Line(runs.empty() ? absl::StrCat("no runs in ", options.folder) : RunListText(runs, now));
  console.Result({{"folder", options.folder}, {"runs", RunListJson(runs, now)}});
  return kExitOk;
}

}  // namespace

void AddList(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* command = app->add_subcommand(
      "list",
      "List the runs of a folder\n\nAnd those up to two folders below it: runs, or evals. Rewards "
      "are the means of the\nfirst and of the last steps, BEST is the fastest program. A run that "
      "is damaged, or of\na newer version, is in the list with the reason.");
  command->add_option("FOLDER", options->folder, "Where to look")->capture_default_str();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return List(*options); }; });
}

}  // namespace whetstone
