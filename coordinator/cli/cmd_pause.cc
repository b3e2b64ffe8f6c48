#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/live_run.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

// A generation of a large model takes minutes, an update perhaps an hour.
constexpr int kQuietPatienceS = 7200;
constexpr std::chrono::seconds kAskEvery{1};
// So much of what runs is named.
constexpr size_t kNamedMax = 3;

struct PauseOptions {
  std::string root;
  bool wait = false;
  int patience_s = kQuietPatienceS;
  bool json = false;
};

// Returns "Trainer.Generate step 12, verdict of 12/0/3 from worker cpu02 and 4 more".
std::string RunningText(const v1::PauseStatus& status) {
  std::vector<std::string> names(status.running().begin(), status.running().end());
  const size_t more = names.size() - std::min(names.size(), kNamedMax);
  names.resize(names.size() - more);
  std::string text = absl::StrJoin(names, ", ");
  if (more > 0) absl::StrAppend(&text, " and ", more, " more");
  return text;
}

nlohmann::ordered_json StatusJson(const PauseOptions& options, const v1::PauseStatus& status,
                                  bool changed) {
  nlohmann::ordered_json json = {{"run_dir", options.root},
                                 {"changed", changed},
                                 {"paused_since_us", nullptr},
                                 {"running", nlohmann::ordered_json::array()}};
  if (status.since_us() > 0) json["paused_since_us"] = status.since_us();
  for (const std::string& name : status.running()) json["running"].push_back(name);
  return json;
}

// Returns how it is once nothing computes any more.
absl::StatusOr<v1::PauseStatus> WaitUntilQuiet(const PauseOptions& options, LiveRun* run,
                                               v1::PauseStatus status, Console* console) {
  const auto begin = std::chrono::steady_clock::now();
  while (status.running_size() > 0) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (seconds > options.patience_s) {
      return absl::DeadlineExceededError(
          absl::StrFormat("%s is paused, but not quiet after %d s: %s still runs", options.root,
                          options.patience_s, RunningText(status)));
    }
    console->Status(absl::StrFormat("paused; %.0f s waiting for %s", seconds, RunningText(status)));
    std::this_thread::sleep_for(kAskEvery);
    ASSIGN_OR_RETURN(status, run->Call(&v1::Coordinator::Stub::Pause, v1::PauseRequest()));
    if (status.since_us() == 0) {
      return absl::AbortedError(
          absl::StrCat("somebody has let ", options.root, " go on meanwhile"));
    }
  }
  return status;
}

std::string PausedText(const PauseOptions& options, const v1::PauseStatus& status, bool changed) {
  return absl::StrCat(changed ? "paused" : "it was paused already", "; ",
                      status.running_size() == 0
                          ? "nothing computes"
                          : absl::StrCat("this ends first: ", RunningText(status)),
                      "; it goes on with: whet unpause ", options.root);
}

int SetPaused(const PauseOptions& options, bool paused) {
  Console console(options.json);
  const std::string otherwise = absl::StrCat("there is nothing to ", paused ? "pause" : "unpause");
  const auto run = LiveRun::Find(options.root, otherwise);
  if (!run.ok()) return console.Fail(run.status());
  v1::PauseRequest request;
  request.set_paused(paused);
  absl::StatusOr<v1::PauseStatus> status = (*run)->Call(&v1::Coordinator::Stub::Pause, request);
  if (!status.ok()) return console.Fail(status.status());
  const bool changed = status->changed();
  if (options.wait) status = WaitUntilQuiet(options, run->get(), *std::move(status), &console);
  if (!status.ok()) return console.Fail(status.status());
  console.Line(paused    ? PausedText(options, *status, changed)
               : changed ? "it goes on"
                         : "it was not paused");
  console.Result(StatusJson(options, *status, changed));
  return kExitOk;
}

}  // namespace

void AddPause(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<PauseOptions>();
  CLI::App* command = app->add_subcommand(
      "pause",
      "Let a running campaign begin nothing new, until whet unpause\n\nWhat runs ends and is kept. "
      "It keeps its trainer and its workers, nothing that it learns is\nchanged, and no patience "
      "runs out meanwhile. Ctrl-C and whet stop end it at once; what is\nresumed is not paused.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_flag("--wait", options->wait, "Return when nothing computes any more");
  command->add_option("--patience", options->patience_s, "Seconds to wait for that")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return SetPaused(*options, /*paused=*/true); }; });
}

void AddUnpause(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<PauseOptions>();
  CLI::App* command = app->add_subcommand(
      "unpause",
      "Let a paused campaign go on where it was\n\nIt is no error if it was not paused. Services "
      "that were lost meanwhile are waited for as\nlong as ever.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return SetPaused(*options, /*paused=*/false); }; });
}

}  // namespace whetstone
