#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/report/report.h"
#include "coordinator/report/report_samples.h"
#include "coordinator/report/run_comparison.h"
#include "coordinator/report/run_summary.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

// Where the page of several runs goes, as it belongs to none of them.
constexpr char kComparisonFile[] = "comparison.html";

struct ReportOptions {
  std::vector<std::string> roots;
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

absl::Status ReportOne(const ReportOptions& options, Console* console) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.roots[0]));
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
  ASSIGN_OR_RETURN(const RunSummary summary, SummarizeRun(run.plan, paths, *run.journal));
  ASSIGN_OR_RETURN(const auto samples, PickSamples(run.plan, *run.journal));
  const std::string file = options.output.empty() ? paths.report() : options.output;
  const absl::Status written = WriteFileAtomically(
      file, ReportHtml(run.plan, summary, samples, KeptPortability(paths, console)));
  if (!written.ok() && options.output.empty()) {
    return absl::Status(written.code(),
                        absl::StrCat(written.message(), "; to write it elsewhere: whet report ",
                                     options.roots[0], " --output FILE"));
  }
  RETURN_IF_ERROR(written);
  if (!summary.rows.empty()) console->Line(RewardCurve(summary));
  console->Line(SummaryText(summary));
  console->Line(absl::StrCat("report: ", file));
  nlohmann::ordered_json json = SummaryJson(summary);
  json["report"] = file;
  console->Result(json);
  return absl::OkStatus();
}

absl::Status ReportSeveral(const ReportOptions& options, Console* console) {
  std::vector<ComparedRun> runs;
  nlohmann::ordered_json json = {{"runs", nlohmann::ordered_json::array()}};
  std::string text;
  for (const std::string& root : options.roots) {
    console->Status(absl::StrCat("reading ", root));
    ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(root));
    const bool again = std::any_of(runs.begin(), runs.end(), [&](const ComparedRun& other) {
      return other.summary.run_dir == paths.root();
    });
    if (again) {
      return absl::InvalidArgumentError(
          absl::StrCat(root, " is named twice: whet report RUN RUN… compares different runs"));
    }
    ComparedRun run;
    ASSIGN_OR_RETURN(run.summary, SummarizeRun(paths, &run.plan));
    json["runs"].push_back(SummaryJson(run.summary));
    absl::StrAppend(&text, SummaryText(run.summary), "\n");
    runs.push_back(std::move(run));
  }
  const std::string file = options.output.empty() ? kComparisonFile : options.output;
  RETURN_IF_ERROR(WriteFileAtomically(file, ComparisonHtml(runs)));
  console->Line(absl::StrCat(text, "report: ", file));
  json["report"] = file;
  console->Result(json);
  return absl::OkStatus();
}

int RunReport(const ReportOptions& options) {
  Console console(options.json);
  const absl::Status status =
      options.roots.size() == 1 ? ReportOne(options, &console) : ReportSeveral(options, &console);
  return status.ok() ? kExitOk : console.Fail(status);
}

}  // namespace

void AddReport(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app->add_subcommand(
      "report",
      "Write one self-contained HTML page about a run, and show its rewards here\n\nCurves, every "
      "problem's best program, and samples of what the policy wrote with their\nverdicts and what "
      "they change; the page says how they were chosen. It holds no script, loads\nnothing, is at "
      "most 10 MB and prints well.\n\nOf several runs the page compares: in which settings they "
      "differ, their curves over each\nother (runs that differ in their seed alone as one, with a "
      "band), their best programs.\nRuns are only read, and may go on.");
  command->add_option("RUN", options->roots, "Run directory; several are compared")->required();
  command
      ->add_option("-o,--output", options->output,
                   "File to write (default RUN/report.html, of several runs comparison.html "
                   "here)")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return RunReport(*options); }; });
}

}  // namespace whetstone
