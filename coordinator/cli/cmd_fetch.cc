#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/loop/fetch.h"
#include "coordinator/loop/trainer_connection.h"
#include "coordinator/report/run_summary.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

struct FetchOptions {
  std::string root;
  std::string step;
  std::string to;
  bool json = false;
};

std::string NameOf(const CheckpointEntry& entry) {
  return std::filesystem::path(entry.path).filename().string();
}

// Returns the checkpoint that `step` names: "12", "step-12" or "warmup"; the newest if it is empty.
absl::StatusOr<CheckpointEntry> Choose(const std::vector<CheckpointEntry>& saved,
                                       const std::string& step) {
  if (saved.empty()) {
    return absl::NotFoundError("this run has saved no checkpoint yet (checkpoint.every)");
  }
  if (step.empty()) return saved.back();
  int64_t number = 0;
  const std::string wanted = absl::SimpleAtoi(step, &number) ? absl::StrCat("step-", number) : step;
  std::vector<std::string> names;
  for (auto entry = saved.rbegin(); entry != saved.rend(); ++entry) {
    if (NameOf(*entry) == wanted) return *entry;
    names.push_back(NameOf(*entry));
  }
  return absl::NotFoundError(absl::StrCat("no checkpoint '", step, "' was saved; there are: ",
                                          absl::StrJoin(names.rbegin(), names.rend(), ", ")));
}

// Says where the checkpoint of a trainer on this machine is: `whet` can see it.
absl::Status SayWhere(const FetchOptions& options, const CheckpointEntry& entry, Console* console) {
  if (!std::filesystem::exists(entry.path)) {
    return absl::NotFoundError(
        absl::StrCat(entry.path,
                     " was on this machine and is gone: only the newest and the best "
                     "checkpoints are kept (checkpoint.keep)"));
  }
  if (!options.to.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the trainer of this run worked on this machine, there is nothing to fetch: "
                     "cp -r ",
                     entry.path, " ", options.to));
  }
  console->Line(absl::StrCat("the trainer of this run worked on this machine: ", NameOf(entry),
                             " is here: ", entry.path));
  console->Result({{"path", entry.path}, {"bytes", entry.bytes}, {"fetched", false}});
  return absl::OkStatus();
}

std::string Megabytes(int64_t bytes) {
  return absl::StrFormat("%.1f MB", static_cast<double>(bytes) / 1e6);
}

absl::Status Fetch(const FetchOptions& options, StopSignals* signals, Console* console) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.root));
  CampaignPlan plan;
  ASSIGN_OR_RETURN(const RunSummary summary, SummarizeRun(paths, &plan));
  ASSIGN_OR_RETURN(const CheckpointEntry entry, Choose(summary.checkpoints, options.step));
  if (!plan.campaign.has_cluster()) return SayWhere(options, entry, console);
  const std::string to =
      options.to.empty() ? absl::StrCat(paths.checkpoints(), "/", NameOf(entry)) : options.to;

  ASSIGN_OR_RETURN(const std::unique_ptr<TrainerConnection> trainer,
                   TrainerConnection::Open(plan.campaign, /*log_dir=*/"", signals, console));
  FetchHooks hooks;
  hooks.read = [&](const std::string& file, int64_t offset,
                   int64_t length) -> absl::StatusOr<std::string> {
    v1::ReadCheckpointRequest request;
    request.set_path(entry.path);
    request.set_file(file);
    request.set_offset(offset);
    request.set_length(length);
    const milliseconds deadline(static_cast<int64_t>(1000 * kReadPieceDeadline));
    ASSIGN_OR_RETURN(v1::ReadCheckpointResponse response,
                     trainer->client()->ReadCheckpoint(request, {deadline, trainer->control()}));
    return std::move(*response.mutable_data());
  };
  hooks.wait = [&](const absl::Status& why) {
    console->Status(absl::StrCat("waiting for the trainer: ", why.message()));
    for (int i = 0; i < 20 && !signals->stopped(); ++i) {
      std::this_thread::sleep_for(milliseconds(50));
    }
    // The cluster tells why the trainer is gone for good.
    return signals->stopped() ? absl::CancelledError("stopped") : trainer->status();
  };
  const auto start = SteadyClock::now();
  int64_t first = -1;
  hooks.on_progress = [&](int64_t done, int64_t total) {
    const double seconds = duration<double>(SteadyClock::now() - start).count();
    if (first < 0) first = done;
    console->Status(absl::StrFormat("%s: %.0f %% of %s, %.1f MB/s", NameOf(entry),
                                    100.0 * static_cast<double>(done) / static_cast<double>(total),
                                    Megabytes(total),
                                    static_cast<double>(done - first) / 1e6 / (seconds + 1e-3)));
  };
  const absl::StatusOr<Fetched> fetched = FetchCheckpoint(entry.checksum, to, hooks);
  if (signals->stopped()) {
    return absl::CancelledError(
        absl::StrCat("stopped; what has arrived is in ", to, ".part, and the next fetch goes on"));
  }
  RETURN_IF_ERROR(fetched.status());
  const double seconds = duration<double>(SteadyClock::now() - start).count();
  if (fetched->was_here) {
    console->Line(absl::StrCat(NameOf(entry), " is already here, whole: ", to));
  } else {
    console->Line(absl::StrFormat(
        "%s: %s in %.1f s%s, every file verified: %s", NameOf(entry),
        Megabytes(fetched->bytes - fetched->bytes_before), seconds,
        fetched->bytes_before == 0 ? "" : " (" + Megabytes(fetched->bytes_before) + " were here)",
        to));
  }
  console->Result({{"path", to},
                   {"bytes", fetched->bytes},
                   {"checksum", entry.checksum},
                   {"fetched", !fetched->was_here}});
  return absl::OkStatus();
}

int RunFetch(const FetchOptions& options) {
  // The signals' thread outlives everything that it may wake.
  static StopSignals* const signals = new StopSignals;
  Console console(options.json);
  const absl::Status status = Fetch(options, signals, &console);
  return status.ok() ? kExitOk : console.Fail(status);
}

}  // namespace

void AddFetch(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<FetchOptions>();
  CLI::App* command = app->add_subcommand(
      "fetch",
      "Bring a checkpoint from a remote trainer\n\nThrough the campaign's own tunnel, while the "
      "run "
      "goes on or after it, into RUN/checkpoints. Every\nfile is verified against the checksum "
      "that "
      "the journal recorded; a fetch that was cut off goes on\nwhere it ended.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_option("STEP", options->step,
                      "A GRPO step whose policy was saved, or 'warmup' (default: the newest)");
  command->add_option("--to", options->to, "Directory to make (default: RUN/checkpoints/step-N)")
      ->type_name("FOLDER");
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [options] { return RunFetch(*options); }; });
}

}  // namespace whetstone
