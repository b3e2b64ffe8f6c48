// The command is whet eval: models are evaluated one after the other, each by a campaign that
// learns nothing, and then compared.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/source_place.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/eval/eval_campaign.h"
#include "coordinator/eval/eval_folder.h"
#include "coordinator/eval/eval_json.h"
#include "coordinator/eval/eval_models.h"
#include "coordinator/eval/eval_page.h"
#include "coordinator/eval/eval_problems.h"
#include "coordinator/eval/eval_tables.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/create_run.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/loop/endpoint_approval.h"
#include "coordinator/loop/model_check.h"
#include "coordinator/loop/run_campaign.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"
#include "coordinator/usage/command_table.h"

namespace whetstone {
namespace {

// As of whet resume.
constexpr std::chrono::seconds kEvalOrphanPatience{15};

struct EvalOptions {
  std::vector<std::string> models;
  std::vector<std::string> problems;
  int samples = 16;
  std::string split = "valid";
  std::vector<int> ks;
  uint64_t seed = 17;
  std::string out;
  std::string campaign;
  std::vector<std::string> sets;
  bool yes = false;
  bool steal = false;
  bool json = false;
};

// One model's part of the evaluation.
struct EvalPart {
  NamedModel model;
  CampaignPlan plan;
  EvalState state = EvalState::kNew;
};

absl::Status CheckNumbers(EvalOptions* options) {
  if (options->samples < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--samples must be at least 1, not ", options->samples));
  }
  if (options->ks.empty()) {
    for (int k = 1; k < options->samples; k *= 4) options->ks.push_back(k);
    options->ks.push_back(options->samples);
  }
  std::sort(options->ks.begin(), options->ks.end());
  options->ks.erase(std::unique(options->ks.begin(), options->ks.end()), options->ks.end());
  for (const int k : options->ks) {
    if (k >= 1 && k <= options->samples) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--k ", k, " is not between 1 and --samples, which is ", options->samples,
                     ": what k samples do can't be told from fewer"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedModel>> FindModels(const std::vector<std::string>& words) {
  std::vector<NamedModel> models;
  std::map<std::string, std::string> names;
  for (const std::string& word : words) {
    ASSIGN_OR_RETURN(NamedModel model, FindModel(word));
    const auto [other, fresh] = names.emplace(model.name, word);
    if (!fresh) {
      return absl::InvalidArgumentError(absl::StrCat(other->second, " and ", word,
                                                     " would both be called ", model.name,
                                                     ": name one of them, as in OTHER=", word));
    }
    models.push_back(std::move(model));
  }
  return models;
}

// Returns the campaign whose settings are used: --campaign, else that of the first run among the
// models, else none. Says whose they are where that could be otherwise.
absl::StatusOr<std::optional<v1::Campaign>> FindBase(const EvalOptions& options,
                                                     const std::vector<NamedModel>& models,
                                                     Console* console) {
  if (!options.campaign.empty()) {
    ASSIGN_OR_RETURN(v1::Campaign campaign, LoadCampaign(options.campaign, {}));
    return campaign;
  }
  const NamedModel* first = nullptr;
  for (const NamedModel& model : models) {
    if (!model.run.has_value()) continue;
    if (first == nullptr) {
      first = &model;
    } else if (model.run->generate().SerializeAsString() !=
               first->run->generate().SerializeAsString()) {
      console->Notice(absl::StrCat("all models are sampled as ", first->word, " was; ", model.word,
                                   " was trained with other 'generate' settings"));
    }
  }
  if (first == nullptr) return std::nullopt;
  console->Line(absl::StrCat(
      "settings (generate, chat, local, measure, cluster, patience, policy) are those of ",
      first->word));
  return first->run;
}

absl::Status RunPart(const EvalPart& part, const EvalFolder& folder, const EvalOptions& options,
                     StopSignals* signals) {
  // Each has a log of its own.
  Console console(options.json);
  const std::string root = folder.RunOf(part.model);
  if (part.state == EvalState::kNew) {
    RETURN_IF_ERROR(folder.Remember(part.model));
    ASSIGN_OR_RETURN(const CreatedRun run, CreateRun(part.plan, root));
    return RunCampaign(part.plan, run.dir.paths(), run.journal.get(), signals, &console,
                       /*enough=*/{}, options.steal);
  }
  ASSIGN_OR_RETURN(const RunDir dir,
                   RunDir::Open(root, kEvalOrphanPatience,
                                [&](const std::string& what) { console.Line(what); }));
  ASSIGN_OR_RETURN(OpenedRun run, OpenRun(dir.paths(), /*read_only=*/false));
  *run.plan.campaign.mutable_policy() = part.plan.campaign.policy();
  *run.plan.campaign.mutable_patience() = part.plan.campaign.patience();
  return RunCampaign(run.plan, dir.paths(), run.journal.get(), signals, &console, /*enough=*/{},
                     options.steal);
}

// Finds everything that can be wrong with the input before anything is made.
absl::StatusOr<std::vector<EvalPart>> Prepare(const EvalOptions& options, const EvalFolder& folder,
                                              StopSignals* signals, Console* console) {
  ASSIGN_OR_RETURN(const ChosenProblems problems, ChooseProblems(options.problems, options.split));
  for (const auto& [split, count] : problems.left_out) {
    console->Line(absl::StrCat(count, count == 1 ? " problem" : " problems", " of split ", split,
                               count == 1 ? " is" : " are", " left out"));
  }
  ASSIGN_OR_RETURN(const std::vector<NamedModel> models, FindModels(options.models));
  ASSIGN_OR_RETURN(const std::optional<v1::Campaign> base, FindBase(options, models, console));
  const EvalSettings settings{problems.files, options.samples, options.seed, options.sets};
  std::vector<EvalPart> parts;
  for (const NamedModel& model : models) {
    ASSIGN_OR_RETURN(const v1::Campaign campaign,
                     EvalCampaign(model, base.has_value() ? &*base : nullptr, settings));
    const RunPaths paths(folder.RunOf(model));
    EvalPart part;
    part.model = model;
    const std::string id = NewCampaignId(campaign.name());
    ASSIGN_OR_RETURN(part.plan, BuildPlan(campaign, id, CheckpointDir(campaign, paths, id)));
    ASSIGN_OR_RETURN(part.state, folder.StateOf(model, part.plan));
    parts.push_back(std::move(part));
  }
  for (const EvalPart& part : parts) {
    if (part.state == EvalState::kDone || part.plan.campaign.has_cluster()) continue;
    const auto place = [&](const std::string& key) -> SourcePlace {
      const bool model = key == "model" || key == "policy.endpoint";
      return {model ? part.model.word : "the evaluation's settings", "", 0, 0};
    };
    RETURN_IF_ERROR(CheckLocalModel(part.plan, place, signals).status());
    RETURN_IF_ERROR(ApproveEndpoint(part.plan, options.yes, signals, console));
  }
  if (options.split == "test") {
    console->Notice(
        absl::StrCat("this uses the test split, which is for final figures only: nothing may be "
                     "chosen by what it shows. ",
                     folder.root(),
                     " records that it was used (campaign.yaml and journal.db of "
                     "each model)"));
  }
  return parts;
}

absl::StatusOr<EvalSummary> Compare(const EvalOptions& options, const EvalFolder& folder,
                                    const std::vector<EvalPart>& parts) {
  std::vector<EvalModel> models;
  for (const EvalPart& part : parts) {
    ASSIGN_OR_RETURN(EvalModel model, folder.Read(part.model));
    models.push_back(std::move(model));
  }
  return SummarizeEvaluation(std::move(models), options.split, options.samples, options.ks,
                             options.seed);
}

absl::Status Evaluate(EvalOptions options, StopSignals* signals, Console* console) {
  RETURN_IF_ERROR(CheckNumbers(&options));
  const std::string out = options.out.empty() ? absl::StrCat("evals/", options.split) : options.out;
  const EvalFolder folder(std::filesystem::absolute(out).lexically_normal().string());
  ASSIGN_OR_RETURN(const std::vector<EvalPart> parts, Prepare(options, folder, signals, console));
  for (size_t i = 0; i < parts.size(); ++i) {
    const EvalPart& part = parts[i];
    console->Line(absl::StrCat("model ", i + 1, " of ", parts.size(), ": ", part.model.name, ", ",
                               part.model.path,
                               part.model.endpoint.empty() ? "" : " at " + part.model.endpoint,
                               part.state == EvalState::kDone ? " (already evaluated)" : ""));
    if (part.state == EvalState::kDone) continue;
    const absl::Status status = RunPart(part, folder, options, signals);
    if (status.ok()) continue;
    console->Line("what was measured is kept; the same command goes on");
    return absl::Status(status.code(), absl::StrCat(part.model.word, ": ", status.message()));
  }
  ASSIGN_OR_RETURN(const EvalSummary summary, Compare(options, folder, parts));
  RETURN_IF_ERROR(WriteFileAtomically(folder.page(), EvalPage(out, summary)));
  console->Line(TablesText(EvalTables(summary)));
  console->Line(absl::StrCat("page: ", folder.page()));
  nlohmann::ordered_json json = EvalJson(summary);
  json["page"] = folder.page();
  console->Result(json);
  return absl::OkStatus();
}

int RunEval(const EvalOptions& options) {
  // The signals' thread outlives everything that it may wake.
  static StopSignals* const signals = new StopSignals;
  Console console(options.json);
  const absl::Status status = Evaluate(options, signals, &console);
  return status.ok() ? kExitOk : console.Fail(status);
}

}  // namespace

void AddEval(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<EvalOptions>();
  CLI::App* command = app->add_subcommand(
      "eval",
      "Evaluate models on problems that they did not learn from, and compare them\n\nEach is a "
      "campaign that learns nothing, below evals/: the same command goes on after Ctrl-C, and\n"
      "skips what is done. docs/evaluation.md has what the figures mean.");
  command
      ->add_option("MODEL", options->models,
                   "Hugging Face directory, checkpoint, run (its last checkpoint; RUN@warmup "
                   "and RUN@12: others), or URL#MODEL, a model behind an endpoint; NAME=MODEL "
                   "names it")
      ->required();
  command->add_option("--problems", options->problems, "Prompt files, or folders of them")
      ->type_name("PATH")
      ->required();
  command->add_option("--samples", options->samples, "Samples for each problem (default 16)");
  command->add_option("--split", options->split, "Which problems count (default valid)")
      ->check(OneOf({"train", "valid", "test"}));
  command
      ->add_option("--k", options->ks,
                   "Of how many samples, e.g. 1,4,16 (default 1, 4, 16 … samples)")
      ->delimiter(',');
  command->add_option("--seed", options->seed, "Seeds sampling and intervals (default 17)");
  command->add_option("--out", options->out, "The evaluation's folder (default evals/SPLIT)")
      ->type_name("FOLDER");
  command
      ->add_option("--campaign", options->campaign,
                   "Campaign file whose generate, chat, local, measure, cluster, patience and "
                   "policy are used (default those of the first MODEL that is a run)")
      ->type_name("FILE");
  command
      ->add_option("--set", options->sets,
                   "Changes a key of these sections, e.g. --set generate.temperature=0.6; may be "
                   "repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--yes", options->yes, "Approve what models behind endpoints may be asked");
  command->add_flag("--steal", options->steal, kStealHelp);
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return RunEval(*options); }; });
}

}  // namespace whetstone
