#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/terminal/console.h"
#include "coordinator/trace/rollout_trace.h"

namespace whetstone {
namespace {

struct TraceOptions {
  std::string root;
  std::string steps;
  std::string file;
  bool json = false;
};

std::string TraceText(const TraceCounts& counts) {
  return absl::StrFormat("%d rollouts, %d spans in %.1f s", counts.rollouts, counts.spans,
                         counts.seconds);
}

absl::StatusOr<TraceCounts> TraceRun(const TraceOptions& options, Console* console) {
  ASSIGN_OR_RETURN(const TracedSteps steps, ParseTracedSteps(options.steps));
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.root));
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
  return TraceSteps(run.plan, *run.journal, steps, options.file,
                    [&](const TraceCounts& counts) { console->Status(TraceText(counts)); });
}

int RunTrace(TraceOptions options) {
  if (options.file.empty()) {
    options.file =
        absl::StrCat("trace-", absl::StrReplaceAll(options.steps, {{"..", "-"}}), ".json");
  }
  Console console(options.json);
  const absl::StatusOr<TraceCounts> counts = TraceRun(options, &console);
  if (!counts.ok()) return console.Fail(counts.status());
  console.Line(absl::StrCat(TraceText(*counts), " are in ", options.file,
                            "; open it in https://ui.perfetto.dev"));
  console.Result({{"file", options.file},
                  {"rollouts", counts->rollouts},
                  {"spans", counts->spans},
                  {"seconds", counts->seconds}});
  return kExitOk;
}

}  // namespace

void AddTrace(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<TraceOptions>();
  CLI::App* command = app->add_subcommand(
      "trace",
      "Draw what trainer, workers and rollouts did when, for ui.perfetto.dev\n\nEach rollout's way "
      "from its generation to the update, and what else ran in the time of\nthose steps, so that "
      "it shows where the trainer and slots idle. docs/formats/trace.md\nexplains the tracks. The "
      "run is only read, and may go on.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command
      ->add_option("STEPS", options->steps,
                   "12, 12..14, or eval-10: the evaluation after ten steps")
      ->required();
  command->add_option("FILE", options->file,
                      "The trace, JSON; trace-12.json of step 12 unless it is given");
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return RunTrace(*options); }; });
}

}  // namespace whetstone
