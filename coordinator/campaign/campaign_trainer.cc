// The trainer's side of CampaignState: one thing at a time.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/retry_policy.h"
#include "common/status_macros.h"
#include "coordinator/campaign/campaign_state.h"
#include "coordinator/campaign/deadlines.h"

namespace whetstone {

bool CampaignState::TrainerComputes() const {
  return trainer_.op != TrainerOp::kNone && trainer_.op != TrainerOp::kProbe;
}

uint64_t CampaignState::StartTrainer(TrainerOp op, std::string name, Seconds allowed) {
  CHECK(trainer_.op == TrainerOp::kNone);
  trainer_.op = op;
  trainer_.call = next_call_++;
  trainer_.op_name = std::move(name);
  trainer_.since = now_;
  trainer_.deadline = now_ + allowed;
  return trainer_.call;
}

void CampaignState::EndTrainer() {
  trainer_.op = TrainerOp::kNone;
  trainer_.call = 0;
  trainer_.progress.Clear();
}

// The running call failed. Whether the trainer is still there, and with which policy, is unknown
// now: ask it (a probe), unless asking again is pointless.
void CampaignState::TrainerTrouble(const absl::Status& status) {
  const TrainerOp op = trainer_.op;
  const std::string name = trainer_.op_name;
  EndTrainer();
  trainer_.last_error = std::string(status.message());
  if (op == TrainerOp::kLoad && (status.code() == absl::StatusCode::kNotFound ||
                                 status.code() == absl::StatusCode::kInvalidArgument ||
                                 status.code() == absl::StatusCode::kDataLoss)) {
    if (trainer_.load_choice < ledger_.checkpoints().size()) {
      ++trainer_.load_choice;
      Emit(action::Notice{
          absl::StrCat("can't load a checkpoint, trying an older one: ", status.message())});
      return;
    }
    Finish(absl::Status(status.code(), absl::StrCat("can't load the model: ", status.message())));
    return;
  }
  // A removal that fails for good does not end the campaign: the next save asks for it again.
  const bool removing = op == TrainerOp::kRemove;
  if (removing) trainer_.obsolete.clear();
  if ((!removing && IsPermanent(Operation::kCall, status)) ||
      ++trainer_.failures >= kTrainerFailuresMax) {
    Finish(absl::Status(status.code(), absl::StrCat(name, ": ", status.message())));
    return;
  }
  if (op != TrainerOp::kProbe) {
    Emit(action::Notice{absl::StrCat(name, " failed, asking again: ", status.message())});
  }
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    trainer_.position.reset();  // it holds another policy than we think
  } else {
    trainer_.probed = false;
    if (trainer_.down_since < 0) trainer_.down_since = now_;
  }
  trainer_.retry_at = now_ + kRetryDelay;
}

void CampaignState::PumpTrainer() {
  Trainer& t = trainer_;
  if (t.op != TrainerOp::kNone || !t.up || now_ < t.retry_at) return;
  if (!t.probed) {
    const uint64_t call = StartTrainer(TrainerOp::kProbe, "Trainer.GetInfo", kProbeDeadline);
    Emit(action::Probe{call, kTrainer});
    return;
  }
  // A policy that computes beside the stopwatch spoils it.
  if (SharedTimingInFlight()) return;
  if (!t.position) {
    StartLoad();
    return;
  }
  if (*t.position < ledger_.position()) {
    const v1::UpdateName name = plan_->NameOf(*t.position + 1);
    t.target = *t.position + 1;
    const uint64_t call =
        StartTrainer(TrainerOp::kReplay,
                     absl::StrCat("Trainer.Update ", PhaseStep(name), " (again)"), kUpdateDeadline);
    Emit(action::ReplayUpdate{call, name});
    return;
  }
  const int64_t position = ledger_.position();
  if (*t.position > position) {  // all there is to do is hear its answer
    if (UpdateReady()) StartUpdate();
    return;
  }
  if (plan_->CheckpointDue(position) && !ledger_.CheckpointSaved(position)) {
    const uint64_t call = StartTrainer(
        TrainerOp::kSave,
        absl::StrCat("Trainer.SaveCheckpoint ", PhaseStep(plan_->NameOf(position))), kSaveDeadline);
    Emit(action::SaveCheckpoint{call, plan_->CheckpointPath(position)});
    return;
  }
  if (!t.obsolete.empty()) {
    const uint64_t call =
        StartTrainer(TrainerOp::kRemove, "Trainer.RemoveCheckpoints", kRemoveDeadline);
    Emit(action::RemoveCheckpoints{call, t.obsolete});
    return;
  }
  if (ledger_.done()) {
    Finish(absl::OkStatus());
    return;
  }
  // What has begun is finished by the policy that began it. Were the rest of another, a step's
  // short completions, which end before a stream breaks, would be of an older one than its long
  // ones.
  for (const StepRecord& step : ledger_.open_steps()) {
    if (step.Sampling()) return StartGenerate(step);
  }
  if (UpdateReady()) return StartUpdate();
  for (const StepRecord& step : ledger_.open_steps()) {
    if (!step.HasAllRollouts()) return StartGenerate(step);
  }
}

void CampaignState::StartLoad() {
  // The newest checkpoint that loads; before the first one, the campaign's model.
  const std::vector<CheckpointFact>& saved = ledger_.checkpoints();
  const bool base = trainer_.load_choice >= saved.size();
  const std::string path =
      base ? plan_->campaign.model() : saved[saved.size() - 1 - trainer_.load_choice].path;
  trainer_.target =
      base ? 0 : plan_->PositionOf(saved[saved.size() - 1 - trainer_.load_choice].name);
  const uint64_t call =
      StartTrainer(TrainerOp::kLoad, absl::StrCat("Trainer.LoadCheckpoint ", path), kLoadDeadline);
  Emit(action::LoadPolicy{call, path});
}

void CampaignState::StartGenerate(const StepRecord& step) {
  trainer_.step = step.step;
  trainer_.groups = step.groups.size();
  v1::GenerateRequest request = BuildGenerate(*plan_, step);
  const uint64_t call =
      StartTrainer(TrainerOp::kGenerate, absl::StrCat("Trainer.Generate step ", step.step),
                   kGenerateSilenceDeadline);
  Emit(action::Generate{call, std::move(request)});
}

// Warm-up updates always are.
bool CampaignState::UpdateReady() const {
  if (ledger_.open_steps().empty()) return true;
  const StepRecord& next = ledger_.open_steps().front();
  return next.HasAllRollouts() && next.HasAllVerdicts() && LeadersChecked();
}

void CampaignState::StartUpdate() {
  trainer_.update = BuildUpdate(*plan_, ledger_);
  trainer_.target = ledger_.position() + 1;
  const uint64_t call = StartTrainer(
      TrainerOp::kUpdate, absl::StrCat("Trainer.Update ", PhaseStep(trainer_.update.name())),
      kUpdateDeadline);
  Emit(action::Update{call, trainer_.update});
}

void CampaignState::On(const event::TrainerProbed& e) {
  if (trainer_.op != TrainerOp::kProbe || e.call != trainer_.call) return;
  EndTrainer();
  trainer_.info = e.info;
  trainer_.probed = true;
  trainer_.down_since = -1;
  trainer_.load_choice = 0;
  if (plan_->campaign.deterministic()) {
    const absl::Status ranks = CheckRanks(ledger_.ranks(), e.info);
    if (!ranks.ok()) return Finish(ranks);
  }
  SetTrainerPosition();
  UpdateTraits();
}

// Which of our updates the policy it holds has seen, if it is ours at all.
void CampaignState::SetTrainerPosition() {
  const v1::TrainerInfo& info = trainer_.info;
  trainer_.position.reset();
  if (info.campaign_id() != plan_->campaign_id || info.model().empty()) return;
  if (!info.has_last_update()) {
    // Fresh from LoadCheckpoint: of the model itself only if there is nothing else to load.
    if (ledger_.position() == 0) trainer_.position = 0;
    return;
  }
  const int64_t position = plan_->PositionOf(info.last_update());
  if (position <= ledger_.position()) {
    trainer_.position = position;
  } else if (position == ledger_.position() + 1 && !ledger_.done() &&
             (ledger_.step() == 0 || ledger_.open_steps().front().HasAllVerdicts())) {
    // It did the update, and its answer was lost: asked again, it repeats the answer.
    trainer_.position = position;
  }
}

void CampaignState::On(const event::PolicyLoaded& e) {
  if (trainer_.op != TrainerOp::kLoad || e.call != trainer_.call) return;
  EndTrainer();
  trainer_.position = trainer_.target;
  trainer_.load_choice = 0;
  trainer_.failures = 0;
}

void CampaignState::On(const event::Prompt& e) {
  if (trainer_.op != TrainerOp::kGenerate || e.call != trainer_.call) return;
  trainer_.deadline = now_ + kGenerateSilenceDeadline;
  const std::deque<GroupRecord>& groups = ledger_.FindStep(trainer_.step)->groups;
  const size_t group = static_cast<size_t>(e.prompt.problem());
  if (group >= groups.size()) return;
  if (!groups[group].prompt) Record(PromptFact{trainer_.step, e.prompt});
}

void CampaignState::On(const event::Completion& e) {
  if (trainer_.op != TrainerOp::kGenerate || e.call != trainer_.call) return;
  trainer_.deadline = now_ + kGenerateSilenceDeadline;
  const std::deque<GroupRecord>& groups = ledger_.FindStep(trainer_.step)->groups;
  const size_t group = static_cast<size_t>(e.completion.problem());
  const size_t sample = static_cast<size_t>(e.completion.sample());
  if (group >= groups.size() || sample >= groups[group].samples.size()) return;
  if (groups[group].samples[sample].completion) return;  // a repeat
  times_.generated_tokens += e.completion.ids_size();
  Record(RolloutFact{trainer_.step, e.completion});
  AddCandidate(trainer_.step, e.completion.problem(), e.completion.sample());
}

void CampaignState::On(const event::Progress& e) {
  if (trainer_.op != TrainerOp::kGenerate || e.call != trainer_.call) return;
  trainer_.deadline = now_ + kGenerateSilenceDeadline;
  trainer_.progress = e.progress;
}

void CampaignState::On(const event::GenerateEnded& e) {
  if (trainer_.op != TrainerOp::kGenerate || e.call != trainer_.call) return;
  if (!ledger_.FindStep(trainer_.step)->HasRollouts(trainer_.groups)) {
    TrainerTrouble(absl::InternalError("the stream ended before every completion had come"));
    return;
  }
  EndTrainer();
  trainer_.failures = 0;
}

void CampaignState::On(const event::UpdateDone& e) {
  if (e.call != trainer_.call) return;
  if (trainer_.op == TrainerOp::kReplay) {
    EndTrainer();
    trainer_.position = trainer_.target;
    trainer_.failures = 0;
    return;
  }
  if (trainer_.op != TrainerOp::kUpdate) return;
  EndTrainer();
  trainer_.failures = 0;
  trainer_.position = trainer_.target;
  times_.step = now_ - step_since_;
  for (int w = 0; w < dispatcher_.size(); ++w) {
    if (!dispatcher_.up(w)) continue;
    times_.slots += dispatcher_.traits(w).slots;
    times_.slots_share_cores |= dispatcher_.traits(w).shares_cores;
  }
  std::map<std::string, double> row =
      BuildRow(*plan_, ledger_, trainer_.update, e.response, times_);
  action::StepDone done{trainer_.update.name(), row, RowLine(*plan_, trainer_.update.name(), row)};
  if (trainer_.update.profile()) {
    absl::StrAppend(&done.line, "\n  ", StepBottleneck(row, e.response.bottleneck()));
  }
  if (!e.response.applied()) {
    Emit(action::Notice{
        absl::StrCat(PhaseStep(trainer_.update.name()),
                     ": update skipped, weights unchanged: ", e.response.skip_reason())});
  }
  Record(UpdateFact{std::move(trainer_.update), e.response, std::move(row)});
  trainer_.update.Clear();
  Emit(std::move(done));
  step_since_ = now_;
  times_ = StepTimes();
  OpenSteps();
}

void CampaignState::On(const event::CheckpointSaved& e) {
  if (trainer_.op != TrainerOp::kSave || e.call != trainer_.call) return;
  EndTrainer();
  trainer_.failures = 0;
  Record(CheckpointFact{plan_->NameOf(ledger_.position()), e.response.path(), e.response.checksum(),
                        e.response.bytes()});
  trainer_.obsolete = ObsoleteCheckpoints(*plan_, ledger_);
}

void CampaignState::On(const event::CheckpointsRemoved& e) {
  if (trainer_.op != TrainerOp::kRemove || e.call != trainer_.call) return;
  EndTrainer();
  trainer_.failures = 0;
  trainer_.obsolete.clear();
  for (const std::string& failure : e.response.failures()) {
    Emit(action::Notice{absl::StrCat("an old checkpoint stays: ", failure)});
  }
}

}  // namespace whetstone
