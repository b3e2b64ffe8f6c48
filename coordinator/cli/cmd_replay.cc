#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/loop/trainer_connection.h"
#include "coordinator/replay/replay.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {
namespace {

struct ReplayOptions {
  std::string root;
  int64_t to = 0;  // 0: all
  std::string keep;
  bool steal = false;
  bool json = false;
};

bool LiesIn(const std::string& path, const std::string& directory) {
  std::error_code error;
  const auto canonical = [&error](const std::string& p) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(p, error), error).string();
  };
  return absl::StartsWith(canonical(path) + "/", canonical(directory) + "/");
}

// Nobody generates again what a model behind an endpoint wrote.
bool WrittenElsewhere(const CampaignPlan& plan) {
  return !plan.campaign.policy().endpoint().empty();
}

// Finds what is wrong with the run or the options.
absl::Status CheckRun(const CampaignPlan& plan, const RunPaths& paths,
                      const ReplayOptions& options) {
  if (!plan.campaign.deterministic() && !WrittenElsewhere(plan)) {
    return absl::FailedPreconditionError(absl::StrCat(
        paths.root(),
        " was made without 'deterministic: true', so its numbers can not be computed again bit for "
        "bit; set that in the campaign file and run it anew to have a run that can be replayed"));
  }
  if (const std::optional<RunOwner> owner = RunDir::Owner(paths)) {
    return absl::FailedPreconditionError(absl::StrCat(
        paths.root(), " is in use by ", owner->text(),
        "; replay it when that has ended (Ctrl-C there stops it cleanly)", owner->doubt()));
  }
  if (options.keep.empty()) {
    if (!plan.campaign.has_cluster()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the trainer of this run is on ", plan.campaign.cluster().trainer().ssh(),
                     ": name a directory there for the checkpoints with --keep DIR"));
  }
  const std::string& shared = plan.campaign.checkpoint().dir();
  if (LiesIn(options.keep, paths.root()) || LiesIn(options.keep, plan.checkpoint_dir) ||
      (!shared.empty() && LiesIn(options.keep, shared))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--keep ", options.keep,
                     " lies in the run itself or where runs save, which a replay must not touch; "
                     "name another directory"));
  }
  return absl::OkStatus();
}

// Returns the number of updates that the replay goes through: all of the journal's unless --to says
// less.
absl::StatusOr<int64_t> UpdatesMax(const CampaignPlan& plan, const Journal& journal, int64_t to) {
  int64_t recorded = 0;
  RETURN_IF_ERROR(journal.ForEachRow([&](const MetricsRow& row) {
    recorded += row.name.phase() == v1::UpdateName::EVAL ? 0 : 1;
  }));
  if (to == 0) return plan.updates();
  const int64_t wanted = plan.warmup_updates() + to;
  if (wanted <= recorded) return wanted;
  return absl::InvalidArgumentError(
      absl::StrCat("--to ", to, ": the journal ends after ",
                   recorded == 0 ? "no update" : PhaseStep(plan.NameOf(recorded))));
}

absl::StatusOr<ReplayCounts> ReplayRun(const ReplayOptions& options, StopSignals* signals,
                                       Console* console) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.root));
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
  const CampaignPlan& plan = run.plan;
  RETURN_IF_ERROR(CheckRun(plan, paths, options));
  ASSIGN_OR_RETURN(const int64_t updates_max, UpdatesMax(plan, *run.journal, options.to));

  ASSIGN_OR_RETURN(const TempDir temp, TempDir::Make("whet-replay"));
  std::unique_ptr<TrainerConnection> trainer;
  ReplayHooks hooks;
  if (WrittenElsewhere(plan)) {
    console->Line(absl::StrCat("what ", plan.campaign.policy().model(), " wrote at ",
                               plan.campaign.policy().endpoint(),
                               " is taken from the journal: only what the coordinator made of it "
                               "is computed again"));
  } else {
    ASSIGN_OR_RETURN(
        trainer, TrainerConnection::Open(plan.campaign, temp.path() + "/logs", signals, console));
    hooks.trainer = trainer->client();
    hooks.control = trainer->control();
    hooks.campaign_id = NewCampaignId(absl::StrCat("replay-of-", plan.campaign_id));
    hooks.steal = options.steal;
  }
  hooks.keep_checkpoints = !options.keep.empty();
  hooks.checkpoint_dir = temp.path();
  if (hooks.keep_checkpoints) {
    // The path is relative to this machine's working directory, or one of the trainer's machine.
    hooks.checkpoint_dir = plan.campaign.has_cluster()
                               ? options.keep
                               : std::filesystem::absolute(options.keep).string();
  }
  hooks.on_step = [console](const std::string& line) { console->Line(line); };
  hooks.on_status = [console](const std::string& line) { console->Status(line); };
  Replay replay(&plan, updates_max, std::move(hooks));
  absl::Status status = replay.Begin();
  if (status.ok()) {
    status = run.journal->ForEach([&](const JournalEntry& entry) { return replay.Take(entry); });
  }
  if (status.ok()) status = replay.End();
  replay.Release();
  if (signals->stopped()) {
    return absl::CancelledError(
        absl::StrCat("stopped; ", replay.counts().updates, " updates were equal so far"));
  }
  if (absl::IsUnavailable(status) && trainer != nullptr) {
    // The cluster tells why the trainer is gone for good.
    RETURN_IF_ERROR(trainer->status());
    return absl::UnavailableError(
        absl::StrCat(status.message(), "; the trainer was lost: start the replay again"));
  }
  RETURN_IF_ERROR(status);
  return replay.counts();
}

int RunReplay(const ReplayOptions& options) {
  // The signals' thread outlives everything that it may wake.
  static StopSignals* const signals = new StopSignals;
  Console console(options.json);
  const absl::StatusOr<ReplayCounts> counts = ReplayRun(options, signals, &console);
  if (!counts.ok()) return console.Fail(counts.status());
  console.Line(absl::StrFormat(
      "replayed %d updates, %d rollouts (%d tokens), %d checkpoints: bit for bit equal",
      counts->updates, counts->rollouts, counts->tokens, counts->checkpoints));
  console.Result({{"updates", counts->updates},
                  {"rollouts", counts->rollouts},
                  {"tokens", counts->tokens},
                  {"checkpoints", counts->checkpoints},
                  {"equal", true}});
  return kExitOk;
}

}  // namespace

void AddReplay(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app->add_subcommand(
      "replay",
      "Prove a deterministic run from its journal\n\nGenerates every rollout and computes every "
      "update again, with the recorded verdicts, and compares\ntokens, log-probabilities, metrics "
      "and checkpoints bit for bit. The run is only read. Needs\n'deterministic: true' in its "
      "campaign, and the kind of machine it ran on. Where a model behind an\nendpoint wrote the "
      "programs, they are taken from the journal, and what follows from them is compared.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_option("--to", options->to, "Stop after this GRPO step")
      ->check([](const std::string& text) {
        int64_t step = 0;
        return absl::SimpleAtoi(text, &step) && step >= 1
                   ? std::string()
                   : absl::StrCat("'", text, "' is no step: they are counted from 1");
      });
  command
      ->add_option("--keep", options->keep,
                   "Keep the checkpoints made again in this directory of the trainer's machine "
                   "(default: a temporary one, removed)")
      ->type_name("FOLDER");
  command->add_flag("--steal", options->steal, kStealHelp);
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [options] { return RunReplay(*options); }; });
}

}  // namespace whetstone
