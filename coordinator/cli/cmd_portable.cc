#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/eval/eval_tables.h"
#include "coordinator/loop/portable.h"
#include "coordinator/report/run_summary.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {
namespace {

struct PortableOptions {
  std::string root;
  std::string problem;
  std::string workers;  // a file; empty: the run's own
  bool json = false;
};

// Prints the findings, and keeps them where the run can be written.
void Publish(const RunPaths& paths, const Portability& found, Console* console) {
  console->Line(
      TablesText({{"Best programs, measured again", PortabilityHeader(), PortabilityRows(found)}}));
  for (const PortableProgram& program : found.programs) console->Line(PortableText(program));
  if (found.cpu_models.size() == 1) {
    console->Line(absl::StrCat("one CPU model was asked: ", found.cpu_models[0],
                               "; --workers FILE names hosts of others, and sh ",
                               paths.best("PROBLEM"), "/run.sh proves a program on any machine"));
  }
  const nlohmann::ordered_json json = PortabilityJson(found);
  const absl::Status kept = WriteFileAtomically(
      paths.portable(),
      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  if (!kept.ok()) {
    console->Notice(absl::StrCat("this is not kept for whet report: ", kept.message()));
  }
  console->Result(json);
}

// Returns the exit code.
absl::StatusOr<int> AskIfPortable(const PortableOptions& options, StopSignals* signals,
                                  Console* console) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.root));
  CampaignPlan plan;
  ASSIGN_OR_RETURN(const RunSummary summary, SummarizeRun(paths, &plan));
  ASSIGN_OR_RETURN(const Incumbents incumbents, IncumbentsOf(summary, options.problem));
  if (incumbents.empty()) {
    console->Line("no program was faster than its reference yet");
    console->Result(PortabilityJson({}));
    return kExitOk;
  }
  ASSIGN_OR_RETURN(const Portability found,
                   MeasurePortability(plan, paths, incumbents, options.workers, signals, console));
  Publish(paths, found, console);
  if (found.portable()) return kExitOk;
  const bool refuted = std::any_of(found.programs.begin(), found.programs.end(),
                                   [](const PortableProgram& p) { return p.refuted(); });
  return refuted ? kExitWrongInput : kExitOurFailure;
}

int RunPortable(const PortableOptions& options) {
  // The signals' thread outlives everything that it may wake.
  static StopSignals* const signals = new StopSignals;
  Console console(options.json);
  const absl::StatusOr<int> exit_code = AskIfPortable(options, signals, &console);
  return exit_code.ok() ? *exit_code : console.Fail(exit_code.status());
}

}  // namespace

void AddPortable(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<PortableOptions>();
  CLI::App* command = app->add_subcommand(
      "portable",
      "Measure the best programs of a run again on other machines\n\nAsks one worker of each CPU "
      "model, after the run or while it goes on. A program is portable where the lower end\nof its "
      "interval is above 1 on every model that was asked. The exit code is 2 if one is not,\nelse "
      "3 if one could not be measured everywhere.\n"
      "RUN/portable.json keeps what was found, for whet report; the run is only read else.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_option("PROBLEM", options->problem, "Only this problem's program");
  command
      ->add_option("--workers", options->workers,
                   "A campaign file whose cluster, or a list like RUN/workers.yaml whose workers "
                   "are asked in place of the run's own")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return RunPortable(*options); }; });
}

}  // namespace whetstone
