// The commands are whet run, whet resume and whet fork.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/config/model_rules.h"
#include "coordinator/config/setting_changes.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/change_settings.h"
#include "coordinator/journal/create_run.h"
#include "coordinator/journal/fork_run.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/loop/endpoint_approval.h"
#include "coordinator/loop/model_check.h"
#include "coordinator/loop/run_campaign.h"
#include "coordinator/report/run_summary.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"
#include "coordinator/yaml/yaml_writer.h"
#include "google/protobuf/util/json_util.h"

namespace whetstone {
namespace {

struct RunOptions {
  std::string campaign;
  std::string run_dir;
  std::vector<std::string> sets;
  bool dry_run = false;
  bool yes = false;
  bool steal = false;
  bool json = false;
};

// The signals' thread outlives everything that it may wake.
StopSignals* Signals() {
  static StopSignals* const signals = new StopSignals;
  return signals;
}

// `model` is absent where it is on another machine.
std::string PlanText(const CampaignPlan& plan, const std::string& run_dir,
                     const std::optional<CheckedModel>& model) {
  const v1::Campaign& c = plan.campaign;
  std::string text = absl::StrCat("# plan\n# run directory  ", run_dir, "\n# model          ");
  if (model.has_value()) {
    absl::StrAppend(&text, FactsText(model->facts));
    if (!model->longest_prompt.empty()) {
      absl::StrAppend(&text, ", longest prompt ", model->longest_prompt_tokens, " tokens (",
                      model->longest_prompt, ")");
    }
    text += "\n";
  } else {
    text += "on the trainer's host, not looked at (whet doctor does)\n";
  }
  if (!plan.warmup.empty()) {
    absl::StrAppend(&text, "# warm-up        ", plan.warmup_updates(), " updates of ",
                    c.warmup().batch_size(), " examples\n");
  }
  absl::StrAppend(&text, c.train().frozen() ? "# search         " : "# GRPO           ",
                  c.train().steps(), " steps of ", c.train().prompts_per_step(), " x ",
                  c.train().group_size(), " rollouts\n");
  if (!c.policy().endpoint().empty()) {
    absl::StrAppend(&text, "# endpoint       ", EndpointCostText(plan), "\n");
  }
  for (const PlannedProblem& problem : plan.learned()) {
    absl::StrAppend(&text, "# problem        ", problem.problem.id(), "  ",
                    problem.hash.substr(0, 12), "\n");
  }
  for (const PlannedProblem& problem : plan.evaluated()) {
    absl::StrAppend(&text, "# evaluated      ", problem.problem.id(), "  ",
                    problem.hash.substr(0, 12), ", ", c.eval().samples(), " samples\n");
  }
  if (c.has_cluster()) {
    absl::StrAppend(&text, "# services       trainer on ", c.cluster().trainer().ssh(), ", ",
                    c.cluster().workers_size(), " worker(s) through SSH (", c.cluster().tunnel(),
                    ")\n");
  } else {
    text += "# services       trainer and worker on this machine\n";
  }
  return text;
}

// Looks at the model before anything is made; returns nothing where it is on another machine.
absl::StatusOr<std::optional<CheckedModel>> CheckModel(const CampaignPlan& plan,
                                                       const RunOptions& options,
                                                       const StopSignals* signals) {
  if (plan.campaign.has_cluster()) return std::nullopt;
  const auto place = [&](const std::string& key) {
    return PlaceInCampaign(options.campaign, options.sets, key);
  };
  return CheckLocalModel(plan, place, signals);
}

absl::Status DryRun(const v1::Campaign& campaign, const RunOptions& given,
                    const std::string& run_dir, const StopSignals* signals, Console* console) {
  const RunPaths paths(run_dir);
  ASSIGN_OR_RETURN(const CampaignPlan plan,
                   BuildPlan(campaign, "dry-run", CheckpointDir(campaign, paths, "dry-run")));
  ASSIGN_OR_RETURN(const std::optional<CheckedModel> model, CheckModel(plan, given, signals));
  console->Line(MessageToYaml(campaign) + PlanText(plan, run_dir, model));
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(campaign, &json, options).ok()) {
    return absl::InternalError("the campaign has no JSON form");
  }
  nlohmann::ordered_json facts = nullptr;
  if (model.has_value()) {
    facts = {{"family", model->facts.family()},
             {"parameters", model->facts.parameters()},
             {"context_length", model->facts.context_length()},
             {"longest_prompt_tokens", model->longest_prompt_tokens}};
  }
  const auto listed = [](std::span<const PlannedProblem> problems) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const PlannedProblem& problem : problems) {
      list.push_back({{"id", problem.problem.id()}, {"hash", problem.hash}});
    }
    return list;
  };
  console->Result(
      {{"campaign", nlohmann::ordered_json::parse(json)},
       {"plan",
        {{"run_dir", paths.root()},
         {"warmup_updates", plan.warmup_updates()},
         {"steps", campaign.train().steps()},
         {"rollouts_per_step", campaign.train().prompts_per_step() * campaign.train().group_size()},
         {"problems", listed(plan.learned())},
         {"evaluated", listed(plan.evaluated())},
         {"model", facts},
         {"checkpoint_dir", plan.checkpoint_dir}}}});
  return absl::OkStatus();
}

// Runs to the end and tells how it ended.
int ConcludeRun(const CampaignPlan& plan, const RunPaths& paths, Journal* journal,
                StopSignals* signals, Console* console, bool steal) {
  const absl::Status status =
      RunCampaign(plan, paths, journal, signals, console, /*enough=*/{}, steal);
  if (!status.ok()) {
    const absl::StatusOr<bool> progress = journal->HasProgress();
    if (progress.ok() && *progress) {
      console->Line(absl::StrCat("nothing is lost; go on with: whet resume ", paths.root()));
    }
    return console->Fail(status);
  }
  absl::StatusOr<RunSummary> summary = SummarizeRun(plan, paths, *journal);
  if (!summary.ok()) return console->Fail(summary.status());
  console->Line(SummaryText(*summary));
  console->Result(SummaryJson(*summary));
  return kExitOk;
}

int RunCampaignFile(const RunOptions& options) {
  StopSignals* const signals = Signals();
  Console console(options.json);
  absl::StatusOr<v1::Campaign> campaign = LoadCampaign(options.campaign, options.sets);
  if (!campaign.ok()) return console.Fail(campaign.status());
  const std::string root =
      options.run_dir.empty() ? absl::StrCat("runs/", campaign->name()) : options.run_dir;
  if (options.dry_run) {
    const absl::Status status = DryRun(*campaign, options, root, signals, &console);
    return status.ok() ? kExitOk : console.Fail(status);
  }
  // Everything that can be wrong with the input is found before anything is made.
  const RunPaths paths(root);
  const std::string id = NewCampaignId(campaign->name());
  absl::StatusOr<CampaignPlan> plan = BuildPlan(*campaign, id, CheckpointDir(*campaign, paths, id));
  if (!plan.ok()) return console.Fail(plan.status());
  const absl::Status model = CheckModel(*plan, options, signals).status();
  if (!model.ok()) return console.Fail(model);
  const absl::Status approved = ApproveEndpoint(*plan, options.yes, signals, &console);
  if (!approved.ok()) return console.Fail(approved);
  absl::StatusOr<CreatedRun> run = CreateRun(*plan, root);
  if (!run.ok()) return console.Fail(run.status());
  console.Line(absl::StrCat("run directory ", paths.root()));
  const int exit_code =
      ConcludeRun(*plan, paths, run->journal.get(), signals, &console, options.steal);
  const absl::StatusOr<bool> progress = run->journal->HasProgress();
  if (exit_code == kExitWrongInput && progress.ok() && !*progress) {
    // The input was wrong after all (a corrupt model, an unsound problem): nothing half-written
    // stays.
    std::error_code ignored;
    std::filesystem::remove_all(paths.root(), ignored);
  }
  return exit_code;
}

// Says whether the model can serve a run with other settings, where it can be asked at once.
std::function<absl::Status(const CampaignPlan& changed)> CheckOfChanges(
    const RunPaths& paths, const std::vector<std::string>& sets, const StopSignals* signals) {
  return [=](const CampaignPlan& plan) -> absl::Status {
    if (plan.campaign.has_cluster() || !plan.campaign.policy().endpoint().empty()) {
      return absl::OkStatus();
    }
    // Of what may change, the model limits only this. It may not be there any more: the run's
    // checkpoints are whole.
    const v1::Campaign& before = plan.former.back().campaign;
    const std::vector<SettingChange> changes = SettingChanges(before, plan.campaign);
    const bool generates_more = before.train().steps() == 0 && plan.campaign.train().steps() > 0;
    const bool generates_otherwise = std::any_of(
        changes.begin(), changes.end(),
        [](const SettingChange& change) { return absl::StartsWith(change.key, "generate."); });
    if (!generates_more && !generates_otherwise) return absl::OkStatus();
    const auto place = [&](const std::string& key) {
      return PlaceInCampaign(paths.campaign(), sets, key);
    };
    return CheckLocalModel(plan, place, signals).status();
  };
}

int Resume(const std::string& root, const std::vector<std::string>& sets, bool steal, bool json) {
  StopSignals* const signals = Signals();
  Console console(json);
  absl::StatusOr<RunDir> run_dir =
      RunDir::Open(root, RunDir::kPatience, [&](const std::string& what) { console.Line(what); });
  if (!run_dir.ok()) return console.Fail(run_dir.status());
  const RunPaths& paths = run_dir->paths();
  absl::StatusOr<OpenedRun> run = OpenRun(paths, /*read_only=*/false);
  if (!run.ok()) return console.Fail(run.status());
  if (!run->was_copy_of.empty()) {
    console.Line(absl::StrCat("this is a copy of ", run->was_copy_of, ": it goes on as ",
                              run->plan.campaign_id, ", and leaves the original alone"));
  }
  const absl::StatusOr<std::string> changed =
      ChangeSettings(sets, &*run, CheckOfChanges(paths, sets, signals));
  if (!changed.ok()) return console.Fail(changed.status());
  if (!changed->empty()) console.Line(*changed);
  return ConcludeRun(run->plan, paths, run->journal.get(), signals, &console, steal);
}

int Fork(const std::string& source, std::optional<int64_t> step, const RunOptions& options) {
  const StopSignals* const signals = Signals();
  Console console(options.json);
  const absl::StatusOr<RunPaths> paths = RunDir::Find(source);
  if (!paths.ok()) return console.Fail(paths.status());
  const std::string root =
      options.run_dir.empty() ? absl::StrCat(paths->root(), "-fork") : options.run_dir;
  const absl::StatusOr<std::string> origin =
      ForkRun(*paths,
              {step, options.sets, CheckOfChanges(*paths, options.sets, signals),
               [signals] { return signals->stopped(); }},
              root);
  if (!origin.ok()) return console.Fail(origin.status());
  console.Line(absl::StrCat("run directory ", root, ", ", *origin));
  return Resume(root, {}, options.steal, options.json);
}

}  // namespace

void AddRun(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app->add_subcommand(
      "run",
      "Run a campaign from its start\n\nOne line per step. Ctrl-C stops cleanly (twice: at once), "
      "whet resume goes on.\nEverything lands in the run directory: metrics.jsonl, tensorboard/, "
      "checkpoints/, best/.");
  command->add_option("CAMPAIGN", options->campaign, "Campaign file (YAML); docs/campaign.md")
      ->required();
  command->add_option("--run-dir", options->run_dir, "Run directory (default runs/NAME)")
      ->type_name("FOLDER");
  command
      ->add_option("--set", options->sets,
                   "Changes a key, e.g. --set train.steps=4; may be repeated; paths are relative "
                   "to the current directory")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--yes", options->yes,
                    "Approve what a model behind an endpoint (policy.endpoint) may be asked");
  command->add_flag("--steal", options->steal, kStealHelp);
  command->add_flag("--dry-run", options->dry_run,
                    "Print the resolved campaign and the plan, start nothing");
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [options] { return RunCampaignFile(*options); }; });
}

void AddResume(CLI::App* app, SelectedCommand* selected) {
  const auto root = std::make_shared<std::string>();
  const auto sets = std::make_shared<std::vector<std::string>>();
  const auto steal = std::make_shared<bool>(false);
  const auto json = std::make_shared<bool>(false);
  CLI::App* command = app->add_subcommand(
      "resume",
      "Go on with a run that was stopped or killed\n\nNothing is generated or measured twice: the "
      "journal has every rollout, verdict and update.");
  command->add_option("RUN", *root, "Run directory")->required();
  command
      ->add_option("--set", *sets,
                   "Goes on with another setting, from the next step on, e.g. --set "
                   "train.steps=200; may be repeated; docs/operating.md says what may change")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--steal", *steal, kStealHelp);
  command->add_flag("--json", *json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return Resume(*root, *sets, *steal, *json); }; });
}

void AddFork(CLI::App* app, SelectedCommand* selected) {
  const auto source = std::make_shared<std::string>();
  const auto step = std::make_shared<std::optional<int64_t>>();
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app->add_subcommand(
      "fork",
      "Begin another run from a checkpoint of this one\n\nIt has the optimizer's state, and what "
      "came before in its journal. The run itself may go on.");
  command->add_option("RUN", *source, "Run directory")->required();
  command->add_option("STEP", *step, "Step of a saved checkpoint, 0: the warm-up (default newest)");
  command->add_option("--run-dir", options->run_dir, "Its run directory (default RUN-fork)")
      ->type_name("FOLDER");
  command
      ->add_option("--set", options->sets,
                   "Goes on with another setting, as of whet resume; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--steal", options->steal, kStealHelp);
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return Fork(*source, *step, *options); }; });
}

}  // namespace whetstone
