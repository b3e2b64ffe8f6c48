#include "coordinator/durable/durable_state.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "coordinator/durable/code_extractor.h"

namespace whetstone {

DurableState::DurableState(const CampaignPlan* plan, int64_t position, bool evaluated)
    : plan_(plan), position_(position), evaluated_(evaluated), archive_(FirstArchive(*plan)) {
  OpenSteps();
}

absl::Status DurableState::Check(const JournalEntry& entry) const {
  return std::visit([this](const auto& e) { return CheckOne(e); }, entry);
}

void DurableState::Apply(const JournalEntry& entry) {
  CHECK(Check(entry).ok());
  std::visit([this](const auto& e) { Set(e); }, entry);
}

absl::Status DurableState::CheckPlace(const char* what, int64_t step, int group_index,
                                      int sample) const {
  const StepRecord* open = FindStep(step);
  if (open != nullptr && group_index >= 0 &&
      static_cast<size_t>(group_index) < open->groups.size() && sample >= 0 &&
      static_cast<size_t>(sample) < open->groups[static_cast<size_t>(group_index)].samples.size()) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat("the journal holds a ", what, " of ",
                                          PhaseStep(StepName(step)), ", group ", group_index,
                                          ", sample ", sample, " after ", position_, " of ",
                                          plan_->updates(), " updates, where it has no place"));
}

absl::Status DurableState::CheckOne(const PromptEntry& entry) const {
  return CheckPlace("prompt", entry.step, entry.prompt.group_index(), 0);
}

absl::Status DurableState::CheckOne(const RolloutEntry& entry) const {
  const int group_index = entry.completion.group_index(), sample = entry.completion.sample();
  RETURN_IF_ERROR(CheckPlace("rollout", entry.step, group_index, sample));
  if (!At(entry.step, group_index, sample).completion) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the journal holds a second rollout of ",
                                          PhaseStep(StepName(entry.step)), ", group ", group_index,
                                          ", sample ", sample));
}

absl::Status DurableState::CheckOne(const VerdictEntry& entry) const {
  RETURN_IF_ERROR(CheckPlace("verdict", entry.step, entry.group_index, entry.sample));
  const CandidateRecord& record = At(entry.step, entry.group_index, entry.sample);
  if (record.completion && !record.verdict) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the journal holds ", record.completion ? "a second verdict" : "a verdict without a rollout",
      " of ", PhaseStep(StepName(entry.step)), ", group ", entry.group_index, ", sample ",
      entry.sample));
}

absl::Status DurableState::CheckOne(const IncumbentEntry& entry) const {
  return CheckPlace("best program", entry.step, entry.group_index, entry.sample);
}

absl::Status DurableState::CheckOne(const UpdateEntry& entry) const {
  if (done() || plan_->PositionOf(entry.name) != position_ + 1) {
    return absl::DataLossError(absl::StrCat("the journal holds an update of ",
                                            PhaseStep(entry.name), " after ", position_, " of ",
                                            plan_->updates(), " updates"));
  }
  if (evaluation() != nullptr) {
    return absl::DataLossError(
        absl::StrCat("the journal holds an update of ", PhaseStep(entry.name), " before the ",
                     PhaseStep(StepName(evaluation()->step)), " is complete"));
  }
  if (plan_->LearnedAt(position_ + 1) == plan_->LearnedAt(position_)) return absl::OkStatus();
  for (const StepRecord& open : open_) {
    if (open.step == step() || !open.Sampling()) continue;
    return absl::DataLossError(absl::StrCat("the journal holds an update of ",
                                            PhaseStep(entry.name), " amid the rollouts of step ",
                                            open.step));
  }
  return absl::OkStatus();
}

absl::Status DurableState::CheckOne(const EvaluationEntry& entry) const {
  const StepRecord* const due = evaluation();
  const std::string where = PhaseStep(entry.name);
  if (due == nullptr || PhaseStep(StepName(due->step)) != where) {
    return absl::DataLossError(absl::StrCat("the journal holds the end of an ", where, " after ",
                                            position_, " of ", plan_->updates(),
                                            " updates, where it has no place"));
  }
  if (due->HasAllVerdicts()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the journal holds the end of the ", where, ", but not each sample's verdict"));
}

absl::Status DurableState::CheckOne(const CheckpointEntry& entry) const {
  if (position_ > 0 && plan_->PositionOf(entry.name) == position_) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the journal holds a checkpoint of ",
                                          PhaseStep(entry.name), " after ", position_, " of ",
                                          plan_->updates(), " updates"));
}

absl::Status DurableState::CheckOne(const ChangeEntry& entry) const {
  if (entry.step == FirstUntouchedStep()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the journal holds a change of ", entry.key,
                                          " from step ", entry.step, " on, where step ",
                                          FirstUntouchedStep(), " is the next to begin"));
}

int64_t DurableState::FirstUntouchedStep() const {
  int64_t first = std::max<int64_t>(position_ - plan_->warmup_updates() + 1, 1);
  for (const StepRecord& open : open_) {
    if (open.prompts > 0 || open.rollouts > 0) first = std::max(first, open.step + 1);
  }
  return first;
}

const StepRecord* DurableState::FindStep(int64_t step) const {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [step](const StepRecord& open) { return open.step == step; });
  return found == open_.end() ? nullptr : &*found;
}

void DurableState::OpenSteps() {
  if (position_ < plan_->warmup_updates()) return;
  if (plan_->EvaluationDue(position_) && !evaluated_) {
    open_.emplace_front(plan_->EvaluationAt(position_), static_cast<int>(plan_->evaluated().size()),
                        plan_->CampaignAt(plan_->EvaluationAt(position_)).eval().samples());
    return;
  }
  const v1::TrainConfig& train = plan_->campaign.train();
  const int64_t first = position_ - plan_->warmup_updates() + 1;
  const int64_t last = std::min<int64_t>(first + train.max_staleness(), train.steps());
  for (int64_t step = open_.empty() ? first : open_.back().step + 1; step <= last; ++step) {
    open_.emplace_back(step, train.prompts_per_step(),
                       plan_->CampaignAt(step).train().group_size());
    ChooseParents(&open_.back());
  }
}

void DurableState::ChooseParents(StepRecord* step) {
  PendingParents pending;
  for (StepRecord& open : open_) {
    for (size_t g = 0; g < open.groups.size(); ++g) {
      const int group_index = static_cast<int>(g);
      std::optional<SearchParent>& parent = open.groups[g].parent;
      if (&open == step) {
        parent = ChooseParent(*plan_, archive_, pending, step->step, group_index);
      }
      if (!parent) continue;
      ++pending[{plan_->ProblemOf(open.step, group_index).problem.id(), parent->hash}];
    }
  }
}

StepRecord& DurableState::StepAt(int64_t step) {
  return *std::find_if(open_.begin(), open_.end(),
                       [step](const StepRecord& open) { return open.step == step; });
}

const CandidateRecord& DurableState::At(int64_t step, int group_index, int sample) const {
  return FindStep(step)
      ->groups[static_cast<size_t>(group_index)]
      .samples[static_cast<size_t>(sample)];
}

CandidateRecord& DurableState::At(int64_t step, int group_index, int sample) {
  return StepAt(step).groups[static_cast<size_t>(group_index)].samples[static_cast<size_t>(sample)];
}

void DurableState::Set(const PromptEntry& entry) {
  StepRecord& step = StepAt(entry.step);
  std::optional<v1::PromptTokens>& prompt =
      step.groups[static_cast<size_t>(entry.prompt.group_index())].prompt;
  step.prompts += prompt ? 0 : 1;  // a trainer that lost its memory tokenises again
  prompt = entry.prompt;
}

void DurableState::Set(const RolloutEntry& entry) {
  const int group_index = entry.completion.group_index();
  CandidateRecord& record = At(entry.step, group_index, entry.completion.sample());
  record.completion = entry.completion;
  StepRecord& step = StepAt(entry.step);
  ++step.rollouts;
  ++rollouts_;
  step.groups[static_cast<size_t>(group_index)].policy = position_;
  record.source = ExtractCode(entry.completion.text(),
                              plan_->ProblemOf(entry.step, group_index).response_prefix);
}

void DurableState::Set(const VerdictEntry& entry) {
  At(entry.step, entry.group_index, entry.sample).verdict = entry;
  StepRecord& step = StepAt(entry.step);
  ++step.verdicts;
  ++verdicts_[entry.verdict.outcome()];
  if (entry.verdict.outcome() == v1::CORRECT && !IsEvaluation(entry.step)) {
    const std::string& id = plan_->ProblemOf(entry.step, entry.group_index).problem.id();
    int64_t& first = first_right_.emplace(id, entry.step).first->second;
    first = std::min(first, entry.step);
  }
  const v1::TrainConfig& train = plan_->CampaignAt(entry.step).train();
  if (IsEvaluation(entry.step) || !step.HasAllVerdicts() ||
      step.refills == train.dynamic_sampling().max_refills()) {
    return;
  }
  const int missing = train.prompts_per_step() - step.Informative();
  if (missing > 0) step.Refill(missing);
}

void DurableState::Set(const IncumbentEntry& entry) {
  StepAt(entry.step).groups[static_cast<size_t>(entry.group_index)].challenger_checked = true;
  if (entry.accepted) incumbents_[entry.problem_id] = entry;
}

void DurableState::Set(const UpdateEntry& entry) {
  ++position_;
  evaluated_ = false;
  if (const int ranks = RanksOf(entry.response); ranks > 0) ranks_ = ranks;
  const auto reward = entry.row.find("reward");
  if (reward != entry.row.end() && std::isfinite(reward->second)) {
    reward_sum_ += reward->second;
    ++rewarded_steps_;
  }
  if (!open_.empty()) {
    Remember(*plan_, open_.front(), &memory_);
    Archive(*plan_, open_.front(), &archive_);
    open_.pop_front();
  }
  OpenSteps();
}

void DurableState::Set(const EvaluationEntry& entry) {
  evaluated_ = true;
  const auto reward = entry.row.find("eval/reward");
  if (reward != entry.row.end() && CheckpointSaved(position_)) {
    checkpoint_evaluations_.back() = reward->second;
  }
  open_.pop_front();
  OpenSteps();
}

void DurableState::Set(const CheckpointEntry& entry) {
  checkpoints_.push_back(entry);
  checkpoint_rewards_.push_back(std::nullopt);
  checkpoint_evaluations_.push_back(std::nullopt);
  if (rewarded_steps_ > 0) {
    checkpoint_rewards_.back() = reward_sum_ / static_cast<double>(rewarded_steps_);
  }
  reward_sum_ = 0;
  rewarded_steps_ = 0;
}

void DurableState::Set(const CalibrationEntry& entry) {
  calibrations_[{entry.host_id, entry.problem_hash}] = entry.calibration;
}

bool DurableState::RightBefore(int64_t step, const std::string& problem_id) const {
  const auto first = first_right_.find(problem_id);
  return first != first_right_.end() &&
         first->second < step - plan_->campaign.train().max_staleness();
}

bool DurableState::CheckpointSaved(int64_t position) const {
  return std::any_of(checkpoints_.begin(), checkpoints_.end(), [&](const CheckpointEntry& entry) {
    return plan_->PositionOf(entry.name) == position;
  });
}

const v1::Calibration* DurableState::FindCalibration(const std::string& host_id,
                                                     const std::string& problem_hash) const {
  const auto it = calibrations_.find({host_id, problem_hash});
  return it == calibrations_.end() ? nullptr : &it->second;
}

std::string DurableState::Fingerprint() const {
  std::string text =
      absl::StrCat("position ", position_, evaluated_ ? " evaluated" : "", " ranks ", ranks_, "\n");
  const auto value = [](std::optional<double> v) { return v ? absl::StrCat(*v) : "none"; };
  for (const StepRecord& step : open_) {
    absl::StrAppend(&text, "step ", step.step, "\n");
    for (size_t g = 0; g < step.groups.size(); ++g) {
      const GroupRecord& group = step.groups[g];
      absl::StrAppend(&text, "group ", g, " policy ", group.policy.value_or(-1),
                      " challenger_checked ", group.challenger_checked, " parent ",
                      group.parent
                          ? absl::StrCat(group.parent->hash, " ", Sha256Hex(group.parent->source),
                                         " ", group.parent->speedup, " ", group.parent->failure)
                          : "none",
                      " prompt ", group.prompt ? group.prompt->ShortDebugString() : "none", "\n");
      for (size_t s = 0; s < group.samples.size(); ++s) {
        const CandidateRecord& record = group.samples[s];
        absl::StrAppend(&text, "  ", s, ": ",
                        record.completion ? record.completion->ShortDebugString() : "none");
        if (record.verdict) {
          absl::StrAppend(&text, " → ", record.verdict->verdict.ShortDebugString(), " reward ",
                          record.verdict->reward, record.verdict->dropped ? " dropped" : "");
        }
        text += "\n";
      }
    }
  }
  for (size_t i = 0; i < checkpoints_.size(); ++i) {
    const CheckpointEntry& entry = checkpoints_[i];
    absl::StrAppend(&text, "checkpoint ", PhaseStep(entry.name), " ", entry.path, " ",
                    entry.checksum, " ", entry.bytes, " bytes, reward ",
                    value(checkpoint_rewards_[i]), " evaluation ",
                    value(checkpoint_evaluations_[i]), "\n");
  }
  absl::StrAppend(&text, "since then reward ", reward_sum_, " of ", rewarded_steps_, " steps\n");
  for (const auto& [id, entry] : incumbents_) {
    absl::StrAppend(&text, "incumbent ", id, " step ", entry.step, " sample ", entry.group_index,
                    "/", entry.sample, " ", Sha256Hex(entry.source), " speedup ",
                    entry.verdict.speedup(), "\n");
  }
  for (const auto& [key, calibration] : calibrations_) {
    absl::StrAppend(&text, "calibration ", key.first, " ", key.second, " ",
                    calibration.ShortDebugString(), "\n");
  }
  for (const auto& [id, programs] : memory_) {
    for (const RememberedProgram& program : programs) {
      absl::StrAppend(&text, "remembered ", id, " step ", program.step, " group ",
                      program.group_index, " ", program.hash, " speedup ", program.speedup, " ",
                      program.rollout.ShortDebugString(), "\n");
    }
  }
  for (const auto& [id, archived] : archive_) {
    for (const ArchivedProgram& program : archived.programs) {
      absl::StrAppend(&text, "archived ", id, " ",
                      RolloutPlace(program.step, program.group_index, program.sample), " ",
                      program.hash, " ", program.object_hash, " of ", program.parent, " ",
                      Sha256Hex(program.source), " speedup ", program.speedup, " parent of ",
                      program.groups, " groups, best ", program.best_child, "\n");
    }
    for (const FailedProgram& program : archived.failed) {
      absl::StrAppend(&text, "failed ", id, " ", program.hash, " ", Sha256Hex(program.source),
                      " parent of ", program.groups, " groups: ", program.failure, "\n");
    }
  }
  for (const auto& [id, step] : first_right_) {
    absl::StrAppend(&text, "first right ", id, " step ", step, "\n");
  }
  absl::StrAppend(&text, "rollouts ", rollouts_, "\n");
  for (const auto& [outcome, count] : verdicts_) {
    absl::StrAppend(&text, "verdicts ", v1::Outcome_Name(static_cast<v1::Outcome>(outcome)), " ",
                    count, "\n");
  }
  return text;
}

int RanksOf(const v1::UpdateResponse& response) {
  const auto ranks = response.metrics().find("perf/ranks");
  return ranks == response.metrics().end() ? 0 : static_cast<int>(ranks->second);
}

absl::Status CheckRanks(int ranks, const v1::TrainerInfo& trainer) {
  if (ranks == 0 || trainer.world_size() == 0 || trainer.world_size() == ranks) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the updates of this deterministic run were computed by ", ranks,
      ranks == 1 ? " rank" : " ranks", ", and the trainer has ", trainer.world_size(),
      ": sums over another number of ranks have other last bits. Start the trainer with ",
      ranks == 1 ? std::string("one (whet-trainer serve)")
                 : absl::StrCat(ranks, " (whet-trainer launch --nproc ", ranks, " -- serve …)")));
}

}  // namespace whetstone
