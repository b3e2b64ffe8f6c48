#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/report/export.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct ExportOptions {
  std::string root;
  std::string folder;
  bool json = false;
};

std::string CountsText(const ExportCounts& counts) {
  return absl::StrCat(counts.rollouts, " rollouts, ", counts.verdicts, " verdicts, ",
                      counts.metrics, " rows of metrics");
}

absl::StatusOr<ExportCounts> ExportTo(const ExportOptions& options, Console* console) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.root));
  std::error_code error;
  const std::string run_folder = std::filesystem::weakly_canonical(paths.root(), error).string();
  const std::string folder = std::filesystem::weakly_canonical(options.folder, error).string();
  if (absl::StartsWith(folder + "/", run_folder + "/")) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.folder,
        " is in the run itself, which has a metrics.jsonl of its own: choose a folder elsewhere"));
  }
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
  return ExportRun(run.plan, *run.journal, options.folder,
                   [&](const ExportCounts& counts) { console->Status(CountsText(counts)); });
}

int Export(const ExportOptions& options) {
  Console console(options.json);
  const absl::StatusOr<ExportCounts> counts = ExportTo(options, &console);
  if (!counts.ok()) return console.Fail(counts.status());
  console.Line(absl::StrCat(CountsText(*counts), " are in ", options.folder));
  console.Result({{"folder", options.folder},
                  {"rollouts", counts->rollouts},
                  {"verdicts", counts->verdicts},
                  {"metrics", counts->metrics}});
  return kExitOk;
}

}  // namespace

void AddExport(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app->add_subcommand(
      "export",
      "Write a run's rollouts, verdicts and metrics as JSON lines\n\nTo rollouts.jsonl, "
      "verdicts.jsonl and metrics.jsonl, whose columns docs/formats/export.md explains. The\n"
      "run is only read, and may go on.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_option("FOLDER", options->folder, "Where to; made if missing")->required();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return Export(*options); }; });
}

}  // namespace whetstone
