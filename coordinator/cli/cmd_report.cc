#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/report/report.h"
#include "coordinator/report/report_samples.h"
#include "coordinator/report/run_summary.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct ReportOptions {
  std::string root;
  std::string output;
  bool json = false;
};

// Returns what whet portable kept, if it did.
std::optional<Portability> KeptPortability(const RunPaths& paths, Console* console) {
  const absl::StatusOr<std::string> text = ReadFile(paths.portable());
  if (!text.ok()) return std::nullopt;
  absl::StatusOr<Portability> kept = ParsePortability(*text);
  if (kept.ok()) return *std::move(kept);
  console->Notice(absl::StrCat(paths.portable(), " ", kept.status().message()));
  return std::nullopt;
}

int RunReport(const ReportOptions& options) {
  Console console(options.json);
  const absl::StatusOr<RunPaths> paths = RunDir::Find(options.root);
  if (!paths.ok()) return console.Fail(paths.status());
  const absl::StatusOr<OpenedRun> run = OpenRun(*paths, /*read_only=*/true);
  if (!run.ok()) return console.Fail(run.status());
  const absl::StatusOr<RunSummary> summary = SummarizeRun(run->plan, *paths, *run->journal);
  if (!summary.ok()) return console.Fail(summary.status());
  const auto samples = PickSamples(run->plan, *run->journal);
  if (!samples.ok()) return console.Fail(samples.status());
  const std::string file = options.output.empty() ? paths->report() : options.output;
  const absl::Status written = WriteFileAtomically(
      file, ReportHtml(run->plan, *summary, *samples, KeptPortability(*paths, &console)));
  if (!written.ok() && options.output.empty()) {
    return console.Fail(absl::Status(
        written.code(), absl::StrCat(written.message(), "; to write it elsewhere: whet report ",
                                     options.root, " --output FILE")));
  }
  if (!written.ok()) return console.Fail(written);
  if (!summary->rows.empty()) console.Line(RewardCurve(*summary));
  console.Line(SummaryText(*summary));
  console.Line(absl::StrCat("report: ", file));
  nlohmann::ordered_json json = SummaryJson(*summary);
  json["report"] = file;
  console.Result(json);
  return kExitOk;
}

}  // namespace

void AddReport(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app->add_subcommand(
      "report", "Write one self-contained HTML page about a run, and show its rewards here");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_option("-o,--output", options->output, "File to write (default RUN/report.html)")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return RunReport(*options); }; });
}

}  // namespace whetstone
