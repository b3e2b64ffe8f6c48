#include "coordinator/eval/eval_folder.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/eval/eval_campaign.h"
#include "coordinator/journal/eval_samples.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/journal/run_dir.h"

namespace whetstone {
namespace {

constexpr char kModels[] = "/models.json";

// Returns an empty object where there is none, or one that can't be read: it is written anew.
nlohmann::ordered_json ReadModels(const std::string& root) {
  const absl::StatusOr<std::string> text = ReadFile(root + kModels);
  if (!text.ok()) return nlohmann::ordered_json::object();
  nlohmann::ordered_json models = nlohmann::ordered_json::parse(*text, nullptr, false);
  return models.is_object() ? models : nlohmann::ordered_json::object();
}

absl::Status MadeOtherwise(const std::string& run, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat(run, " was made otherwise: ", what,
                   ". What it measured is kept; give another folder with --out, the same settings, "
                   "or the model another name with NAME=MODEL"));
}

}  // namespace

absl::Status EvalFolder::CheckIdentity(const NamedModel& model) const {
  const nlohmann::ordered_json models = ReadModels(root_);
  const auto known = models.find(model.name);
  if (known == models.end() || !known->is_object()) return absl::OkStatus();
  const std::string was = known->value("identity", "");
  const std::string is = ModelIdentity(model);
  if (was.empty() || is.empty() || was == is) return absl::OkStatus();
  return MadeOtherwise(RunOf(model),
                       absl::StrCat("the model in ", model.path, " has been changed since"));
}

absl::StatusOr<EvalState> EvalFolder::StateOf(const NamedModel& model,
                                              const CampaignPlan& plan) const {
  const absl::StatusOr<RunPaths> paths = RunDir::Find(RunOf(model));
  if (!paths.ok()) return EvalState::kNew;
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(*paths, /*read_only=*/true));
  ASSIGN_OR_RETURN(const bool progress, run.journal->HasProgress());
  if (!progress) return EvalState::kNew;
  const std::vector<std::string> differences = EvalDifferences(run.plan, plan);
  if (!differences.empty()) {
    return MadeOtherwise(RunOf(model), absl::StrJoin(differences, "; "));
  }
  RETURN_IF_ERROR(CheckIdentity(model));
  ASSIGN_OR_RETURN(const DurableState durable, run.journal->Restore(run.plan));
  return durable.done() ? EvalState::kDone : EvalState::kBegun;
}

absl::Status EvalFolder::Remember(const NamedModel& model) const {
  RETURN_IF_ERROR(MakeDirectories(root_));
  nlohmann::ordered_json models = ReadModels(root_);
  models[model.name] = {{"path", model.path}, {"identity", ModelIdentity(model)}};
  return WriteFileAtomically(root_ + kModels, models.dump(2) + "\n");
}

absl::StatusOr<EvalModel> EvalFolder::Read(const NamedModel& model) const {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(RunOf(model)));
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
  ASSIGN_OR_RETURN(const std::vector<EvaluatedSample> samples, ReadEvaluatedSamples(run));
  EvalModel read{.name = model.name, .path = model.path, .problems = {}};
  for (const PlannedProblem& planned : run.plan.evaluated()) {
    read.problems.push_back({.id = planned.problem.id(), .expert_speedup = 0, .samples = {}});
  }
  for (const EvaluatedSample& s : samples) {
    EvalProblem& problem = read.problems[static_cast<size_t>(s.problem_index)];
    problem.expert_speedup = s.expert_speedup;
    const bool noise = s.correct && std::abs(std::log(s.speedup)) <= s.noise_band;
    problem.samples.push_back(
        {s.sample, s.outcome, noise ? 1 : s.speedup, s.tokens, s.candidate_hash});
  }
  return read;
}

}  // namespace whetstone
