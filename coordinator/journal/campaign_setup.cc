#include "coordinator/journal/campaign_setup.h"

#include <filesystem>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file.h"
#include "common/problem/problem_hash.h"
#include "common/problem/struct_type.h"
#include "common/shell_word.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/config/problem_rules.h"
#include "coordinator/config/setting_changes.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/prompt/render.h"
#include "coordinator/prompt/worked_examples.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

// Copies the prompt files into the run directory and names the copies instead. They are numbered,
// as two folders may hold files of one name.
absl::Status FreezePrompts(const RunPaths& paths, const std::string& prefix,
                           google::protobuf::RepeatedPtrField<std::string>* files) {
  for (int i = 0; i < files->size(); ++i) {
    const std::string copy = absl::StrCat(paths.inputs(), "/", prefix, i, "-",
                                          std::filesystem::path((*files)[i]).filename().string());
    ASSIGN_OR_RETURN(const std::string text, ReadFile((*files)[i]));
    RETURN_IF_ERROR(WriteFileAtomically(copy, text));
    (*files)[i] = std::filesystem::path(copy).lexically_relative(paths.root()).string();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WorkedExample>> RewritesOf(const v1::Campaign& campaign) {
  const std::string& path = campaign.warmup().rewrites();
  if (path.empty()) return std::vector<WorkedExample>();
  return ReadRewrites(path);
}

// Returns what is known of the problem's programs before the campaign begins.
std::vector<KnownProgram> KnownOf(const v1::Problem& problem,
                                  const std::vector<WorkedExample>& rewrites) {
  std::vector<KnownProgram> known;
  for (const WorkedExample& rewrite : rewrites) {
    if (rewrite.prompt_code != problem.reference()) continue;
    if (*rewrite.gain <= 1) continue;  // as little as the archive would keep it
    known.push_back({rewrite.rewrite, rewrite.canonical_hash, *rewrite.gain});
  }
  return known;
}

// Checks search.rewrites. `problems` are those that the campaign works on.
absl::Status CheckKnown(const v1::Campaign& campaign, const std::vector<v1::Problem>& problems,
                        const std::vector<WorkedExample>& rewrites) {
  absl::Status status = CheckRewrites(problems, rewrites);
  for (const WorkedExample& rewrite : rewrites) {
    if (rewrite.gain || !status.ok()) continue;
    status = absl::InvalidArgumentError(absl::StrCat(
        "'", rewrite.id, "' has no gain: how many times as fast is it? whet rewrite says"));
  }
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("'search.rewrites': ", campaign.search().rewrites(), ": ", status.message()));
}

// Says what the campaign's warm-up shows. `problems` are those that it learns from.
absl::StatusOr<WarmupOptions> WarmupOptionsOf(const v1::Campaign& campaign,
                                              const std::vector<v1::Problem>& problems,
                                              const std::vector<WorkedExample>& rewrites) {
  const v1::WarmupConfig& warmup = campaign.warmup();
  const std::string& response_prefix = campaign.generate().response_prefix();
  WarmupOptions options;
  options.epochs = warmup.epochs();
  options.batch_size = warmup.batch_size();
  options.seed = campaign.seed();
  options.max_response_chars = static_cast<size_t>(warmup.max_response_chars());
  options.response_prefix = response_prefix;
  options.curriculum = warmup.order() == "curriculum";
  options.nearest = static_cast<size_t>(warmup.nearest());
  for (const v1::Problem& problem : problems) options.functions.push_back(problem.reference());
  absl::StatusOr<std::vector<v1::SftExample>> own =
      OwnExamples(problems, rewrites, static_cast<size_t>(warmup.references()), response_prefix);
  if (!own.ok()) {
    return absl::Status(own.status().code(), absl::StrCat("'warmup.rewrites': ", warmup.rewrites(),
                                                          ": ", own.status().message()));
  }
  options.own = *std::move(own);
  return options;
}

// Returns the lines of the worked examples that the campaign shows: who opens the run need not
// choose among all of them again.
absl::StatusOr<std::string> ChosenLines(const v1::Campaign& campaign) {
  std::vector<v1::Problem> problems;
  for (const std::string& file : campaign.problems()) {
    ASSIGN_OR_RETURN(problems.emplace_back(), ParsePromptFile(file));
  }
  ASSIGN_OR_RETURN(std::vector<WorkedExample> examples,
                   ReadWorkedExamples(campaign.warmup().examples()));
  ASSIGN_OR_RETURN(const std::vector<WorkedExample> rewrites, RewritesOf(campaign));
  ASSIGN_OR_RETURN(const WarmupOptions options, WarmupOptionsOf(campaign, problems, rewrites));
  std::string text;
  for (const WorkedExample& example : ChooseExamples(std::move(examples), options)) {
    absl::StrAppend(&text, example.line, "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<CampaignPlan> BuildPlan(const v1::Campaign& campaign, const std::string& campaign_id,
                                       const std::string& checkpoint_dir) {
  CampaignPlan plan;
  plan.campaign = campaign;
  plan.campaign_id = campaign_id;
  plan.checkpoint_dir = checkpoint_dir;
  ASSIGN_OR_RETURN(const std::vector<WorkedExample> rewrites, RewritesOf(campaign));
  std::vector<WorkedExample> known;
  if (const std::string& path = campaign.search().rewrites(); !path.empty()) {
    ASSIGN_OR_RETURN(known, ReadRewrites(path));
  }
  // `files` maps a problem's id to its file.
  std::map<std::string, std::string> files;
  const int learned = campaign.problems_size();
  for (int i = 0; i < learned + campaign.eval().problems_size(); ++i) {
    const bool evaluated = i >= learned;
    const std::string& file =
        evaluated ? campaign.eval().problems(i - learned) : campaign.problems(i);
    PlannedProblem planned;
    ASSIGN_OR_RETURN(planned.problem, ParsePromptFile(file));
    if (!evaluated) RETURN_IF_ERROR(CheckTrainable(planned.problem, file));
    if (evaluated && Learns(campaign)) RETURN_IF_ERROR(CheckHeldOut(planned.problem, file));
    const auto [other, fresh] = files.emplace(planned.problem.id(), file);
    if (!fresh) {
      return absl::InvalidArgumentError(
          absl::StrCat(evaluated ? "'eval.problems': " : "'problems': ", other->second, " and ",
                       file, " both have the id ", planned.problem.id()));
    }
    if (planned.problem.expert().empty()) {
      planned.problem.set_expert(ExpertOf(planned.problem, rewrites.empty() ? known : rewrites));
      planned.problem.set_expert_by_rules(!planned.problem.expert().empty());
    }
    planned.hash = ProblemHash(planned.problem);
    planned.messages = RenderMessages(planned.problem);
    planned.structs = StructText(planned.problem);
    planned.hinted = RenderHinted(
        planned.messages, {campaign.train().hints().begin(), campaign.train().hints().end()});
    planned.response_prefix =
        RenderResponsePrefix(campaign.generate().response_prefix(), planned.problem);
    plan.problems.push_back(std::move(planned));
  }
  std::vector<v1::Problem> problems;
  for (const PlannedProblem& planned : plan.learned()) problems.push_back(planned.problem);
  RETURN_IF_ERROR(CheckKnown(campaign, problems, known));
  for (PlannedProblem& planned : plan.problems) planned.known = KnownOf(planned.problem, known);
  if (campaign.has_warmup()) {
    const v1::WarmupConfig& warmup = campaign.warmup();
    ASSIGN_OR_RETURN(const WarmupOptions options, WarmupOptionsOf(campaign, problems, rewrites));
    ASSIGN_OR_RETURN(std::vector<WorkedExample> examples, ReadWorkedExamples(warmup.examples()));
    for (const WorkedExample& example : examples) {
      if (!options.curriculum || example.difficulty.has_value()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "'warmup.order': curriculum needs a difficulty for every example, and '", example.id,
          "' in ", warmup.examples(), " has none; add it there or choose shuffle"));
    }
    examples = ChooseExamples(std::move(examples), options);
    if (examples.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'warmup': none of the examples in ", warmup.examples(), " is at most ",
                       warmup.max_response_chars(),
                       " characters long; raise warmup.max_response_chars or leave out 'warmup'"));
    }
    plan.warmup = PlanWarmup(examples, options);
    if (plan.warmup.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'warmup.epochs': ", warmup.epochs(), " of a pass over ",
                       examples.size() + options.own.size(),
                       " examples shows none of them; raise it or leave out 'warmup'"));
    }
  }
  return plan;
}

std::string CheckpointDir(const v1::Campaign& campaign, const RunPaths& paths,
                          const std::string& campaign_id) {
  const std::string& shared = campaign.checkpoint().dir();
  return shared.empty() ? paths.checkpoints() : absl::StrCat(shared, "/", campaign_id);
}

std::string NewCampaignId(const std::string& name) {
  std::random_device random;
  return absl::StrCat(name, "-", absl::StrFormat("%08x", random()));
}

absl::Status FreezeCampaign(const v1::Campaign& campaign, const RunPaths& paths) {
  v1::Campaign frozen = campaign;
  RETURN_IF_ERROR(MakeDirectories(paths.inputs()));
  RETURN_IF_ERROR(FreezePrompts(paths, "", frozen.mutable_problems()));
  if (campaign.has_eval()) {
    RETURN_IF_ERROR(FreezePrompts(paths, "eval-", frozen.mutable_eval()->mutable_problems()));
  }
  if (campaign.has_warmup()) {
    ASSIGN_OR_RETURN(const std::string text, ChosenLines(campaign));
    RETURN_IF_ERROR(WriteFileAtomically(paths.inputs() + "/warmup.jsonl", text));
    frozen.mutable_warmup()->set_examples("inputs/warmup.jsonl");
    if (!campaign.warmup().rewrites().empty()) {
      ASSIGN_OR_RETURN(const std::string rewrites, ReadFile(campaign.warmup().rewrites()));
      RETURN_IF_ERROR(WriteFileAtomically(paths.inputs() + "/rewrites.jsonl", rewrites));
      frozen.mutable_warmup()->set_rewrites("inputs/rewrites.jsonl");
    }
  }
  if (const std::string& known = campaign.search().rewrites(); !known.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(known));
    RETURN_IF_ERROR(WriteFileAtomically(paths.inputs() + "/known.jsonl", text));
    frozen.mutable_search()->set_rewrites("inputs/known.jsonl");
  }
  const std::string& checkpoints = campaign.checkpoint().dir();
  if (!campaign.has_cluster() && absl::StartsWith(checkpoints, paths.root() + "/")) {
    // The run may be moved.
    frozen.mutable_checkpoint()->set_dir(checkpoints.substr(paths.root().size() + 1));
  }
  return WriteFileAtomically(paths.campaign(),
                             absl::StrCat("# The campaign that this run began with, with every "
                                          "key. What may be changed is changed by\n"
                                          "# whet resume RUN --set KEY=VALUE, not here.\n",
                                          MessageToYaml(frozen)));
}

absl::Status RecordCampaign(const RunPaths& paths, Journal* journal) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(paths.campaign()));
  return journal->SetFacts({{"campaign", text}});
}

absl::StatusOr<v1::Campaign> FrozenCampaign(const absl::StatusOr<v1::Campaign>& file,
                                            const RunPaths& paths, bool read_only,
                                            Journal* journal) {
  const std::string text = journal->Fact("campaign");
  if (text.empty()) {
    RETURN_IF_ERROR(file.status());
    if (!absl::StartsWith(journal->campaign_id(), file->name() + "-")) {
      return absl::DataLossError(absl::StrCat(
          paths.journal(), " is the journal of ", journal->campaign_id(),
          ", but campaign.yaml beside it is of ", file->name(), ": one of them was copied here"));
    }
    if (!read_only) RETURN_IF_ERROR(RecordCampaign(paths, journal));
    return file;
  }
  ASSIGN_OR_RETURN(const v1::Campaign frozen,
                   ParseCampaign(text, paths.campaign(), paths.root(), {}));
  if (read_only) return frozen;
  if (absl::IsInvalidArgument(file.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.status().message(),
                     "; as the run began with it, it is put back by: ", paths.PutCampaignBack()));
  }
  RETURN_IF_ERROR(file.status());
  const std::vector<SettingChange> changes = SettingChanges(frozen, *file);
  if (changes.empty()) return frozen;
  std::string sets;
  for (const SettingChange& change : changes) {
    if (!CheckMayChange(change, frozen.deterministic()).ok()) continue;
    absl::StrAppend(&sets, " --set ", ShellWord(absl::StrCat(change.key, "=", change.after)));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      paths.campaign(), " was edited: ", SettingChangesText(changes),
      "; the run goes on as it began. Put that back, by hand or by: ", paths.PutCampaignBack(),
      sets.empty() ? "" : "; then change what may be changed by: whet resume ",
      sets.empty() ? "" : absl::StrCat(paths.root(), sets)));
}

}  // namespace whetstone
