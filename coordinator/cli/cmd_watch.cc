#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/cli/commands.h"
#include "coordinator/report/run_summary.h"
#include "coordinator/report/text_chart.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

using std::chrono::steady_clock;

// The sequence moves to the top and clears the screen.
constexpr char kClearScreen[] = "\033[H\033[2J";

struct WatchOptions {
  std::string root;
  bool once = false;
  bool json = false;
};

struct Screen {
  int columns = 80;
  int rows = 40;
};

Screen ScreenSize() {
  winsize size = {};
  Screen screen;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    screen = {size.ws_col, size.ws_row};
  }
  return screen;
}

std::string Page(const RunSummary& summary, const Screen& screen) {
  const std::pair<const char*, std::string> curves[] = {
      {"reward", "reward" + summary.reward_note},
      {"outcome/correct", "share of correct programs"},
      {"speedup/mean", "speedup of correct programs"},
      {"completions/mean_length", "tokens of a completion"},
      {"time/step", "seconds of a step"}};
  // A chart takes this many columns besides its curve.
  constexpr int kAxis = 12;
  // The text below takes this many rows.
  const int other_rows = summary.eval_rows.empty() ? 8 : 9;
  const bool evaluated = summary.eval_rows.size() > 1;
  const int charts = static_cast<int>(std::size(curves)) + (evaluated ? 1 : 0);
  const int rows = std::clamp((screen.rows - other_rows) / charts - 1, 2, 8);
  std::string page;
  for (const auto& [key, title] : curves) {
    page += TextChart(title, summary.Series(key), screen.columns - kAxis, rows);
  }
  if (evaluated) {
    std::vector<double> correct;
    for (const auto& [step, row] : summary.eval_rows) {
      const auto share = row.find("eval/correct");
      correct.push_back(share == row.end() ? std::nan("") : share->second);
    }
    page += TextChart("share of correct programs on held-out problems, by evaluation", correct,
                      screen.columns - kAxis, rows);
  }
  if (summary.rows.empty() && !summary.warmup_rows.empty()) {
    std::vector<double> losses;
    for (const auto& row : summary.warmup_rows) {
      const auto loss = row.find("loss");
      losses.push_back(loss == row.end() ? std::nan("") : loss->second);
    }
    page += TextChart("loss of the warm-up", losses, screen.columns - kAxis, 8);
  }
  return page + SummaryText(summary);
}

int RunWatch(const WatchOptions& options) {
  Console console(options.json);
  const bool live = !options.once && !options.json && isatty(STDOUT_FILENO) == 1;
  const absl::StatusOr<RunPaths> paths = RunDir::Find(options.root);
  if (!paths.ok()) return console.Fail(paths.status());
  while (true) {
    const auto begin = steady_clock::now();
    CampaignPlan plan;
    const absl::StatusOr<RunSummary> summary = SummarizeRun(*paths, &plan);
    if (!summary.ok()) return console.Fail(summary.status());
    const bool ended = !summary->owner;
    console.Line((live ? kClearScreen : "") + Page(*summary, ScreenSize()));
    if (ended && !summary->done()) {
      console.Line(absl::StrCat("go on with: whet resume ", options.root));
    }
    if (ended || !live) {
      console.Result(SummaryJson(*summary));
      return kExitOk;
    }
    // A long journal takes a while to read: that may cost a twentieth of a core, not more.
    std::this_thread::sleep_for(std::max<steady_clock::duration>(
        std::chrono::seconds(2), 20 * (steady_clock::now() - begin)));
  }
}

}  // namespace

void AddWatch(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* command = app->add_subcommand("watch",
                                          "Draw a run's curves in the terminal, live\n\nUntil the "
                                          "run ends, or Ctrl-C, which leaves the "
                                          "run alone. Where the output is no terminal: once.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_flag("--once", options->once, "Draw once");
  command->add_flag("--json", options->json, "Once, and end with one JSON object on stdout");
  command->callback([=] { selected->run = [options] { return RunWatch(*options); }; });
}

}  // namespace whetstone
