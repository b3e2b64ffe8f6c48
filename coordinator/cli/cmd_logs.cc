#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/report/log_follower.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

using std::chrono::steady_clock;

// Nothing tells when another process writes to a file on any file system.
constexpr std::chrono::milliseconds kLookEvery{200};
// Services end within two seconds of whoever started them.
constexpr std::chrono::seconds kLastWords{3};

struct LogsOptions {
  std::string root;
  std::string service = "whet";
  int lines = 100;
  bool follow = false;
};

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

absl::Status PrintLog(const LogsOptions& options) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.root));
  const std::string path = absl::StrCat(paths.logs(), "/", options.service, ".log");
  LogFollower log(path);
  absl::StatusOr<std::string> text = log.Last(options.lines);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat("there is no ", path,
                                            DidYouMean(options.service, LogsIn(paths.logs())),
                                            ". What runs on another host logs there"));
  }
  RETURN_IF_ERROR(text.status());
  Print(*text);
  std::optional<steady_clock::time_point> alive;  // when it was so last
  while (options.follow) {
    if (RunDir::Owner(paths)) alive = steady_clock::now();
    ASSIGN_OR_RETURN(const std::string more, log.More());
    Print(more);
    if (std::ferror(stdout) != 0) break;
    if (!more.empty()) continue;
    if (!alive || steady_clock::now() - *alive > kLastWords) break;
    std::this_thread::sleep_for(kLookEvery);
  }
  return absl::OkStatus();
}

int Logs(const LogsOptions& options) {
  const absl::Status status = PrintLog(options);
  return status.ok() ? kExitOk : Console(/*json=*/false).Fail(status);
}

}  // namespace

void AddLogs(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<LogsOptions>();
  CLI::App* command = app->add_subcommand(
      "logs",
      "Print a run's log, or that of one of its services on this machine\n\nWith -f also what is "
      "written from then on, until the run ends or Ctrl-C, which leaves the run alone.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_option("SERVICE", options->service, "Whose: whet, trainer, worker, …")
      ->capture_default_str();
  command->add_option("-n,--lines", options->lines, "How many of its last lines")
      ->check(CLI::Range(0, 1'000'000'000))
      ->capture_default_str();
  command->add_flag("-f,--follow", options->follow, "Go on with what is written");
  command->callback([=] { selected->run = [=] { return Logs(*options); }; });
}

}  // namespace whetstone
