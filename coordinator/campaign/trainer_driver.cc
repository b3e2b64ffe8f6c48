#include "coordinator/campaign/trainer_driver.h"

#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/retry_policy.h"
#include "common/status_macros.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/durable/checkpoint_retention.h"
#include "coordinator/durable/request_builders.h"

namespace whetstone {
void TrainerDriver::On(const event::ServiceReady&) {
  // The call ends even if the trainer never looked lost: the process may be another one.
  Cancel();
  up_ = true;
  probed_ = false;
  retry_at_ = 0;
  if (down_since_ < 0) down_since_ = context_->now();
}

void TrainerDriver::On(const event::ServiceLost& e) {
  context_->Notice(absl::StrCat("lost the trainer: ", e.detail));
  Cancel();
  up_ = probed_ = false;
  position_.reset();
  last_error_ = e.detail;
  if (down_since_ < 0) down_since_ = context_->now();
}

void TrainerDriver::On(const event::ServiceFailed& e) {
  context_->Finish(absl::UnavailableError(absl::StrCat("the trainer is gone: ", e.detail)));
}

void TrainerDriver::On(const event::CallFailed& e) {
  if (op_ != TrainerOp::kNone && e.call == call_) Fail(e.status);
}

void TrainerDriver::CheckDeadlines() {
  if (op_ != TrainerOp::kNone && context_->now() >= deadline_) {
    context_->Emit(action::CancelCall{call_});
    Fail(absl::DeadlineExceededError(
        absl::StrFormat("%s: no answer in %.0f s", op_name_, context_->now() - since_)));
  }
  if (down_since_ >= 0 && context_->now() >= down_since_ + kReturnDeadline) {
    context_->Finish(absl::UnavailableError(absl::StrFormat(
        "the trainer has not answered for %.0f s: %s", context_->now() - down_since_,
        last_error_.empty() ? "no answer" : last_error_)));
  }
}

void TrainerDriver::AddWaits(std::vector<Wait>* waits) const {
  if (op_ != TrainerOp::kNone) {
    waits->push_back({op_name_, since_, deadline_});
  } else if (down_since_ >= 0) {
    waits->push_back({lost() ? "the trainer to come back" : "the trainer to start", down_since_,
                      down_since_ + kReturnDeadline});
  }
}

uint64_t TrainerDriver::Start(TrainerOp op, std::string name, Seconds allowed) {
  CHECK(op_ == TrainerOp::kNone);
  op_ = op;
  call_ = context_->NewCall();
  op_name_ = std::move(name);
  since_ = context_->now();
  deadline_ = context_->now() + allowed;
  return call_;
}

void TrainerDriver::End() {
  op_ = TrainerOp::kNone;
  call_ = 0;
  progress_.Clear();
}

void TrainerDriver::Succeed() {
  End();
  failures_ = 0;
}

void TrainerDriver::Cancel() {
  if (op_ == TrainerOp::kNone) return;
  context_->Emit(action::CancelCall{call_});
  End();
}

// The running call failed. Whether the trainer is still there, and with which policy, is unknown
// now: ask it (a probe), unless asking again is pointless.
void TrainerDriver::Fail(const absl::Status& status) {
  const TrainerOp op = op_;
  const std::string name = op_name_;
  End();
  last_error_ = std::string(status.message());
  if (op == TrainerOp::kLoad && (status.code() == absl::StatusCode::kNotFound ||
                                 status.code() == absl::StatusCode::kInvalidArgument ||
                                 status.code() == absl::StatusCode::kDataLoss)) {
    if (load_choice_ < context_->durable().checkpoints().size()) {
      ++load_choice_;
      context_->Notice(
          absl::StrCat("can't load a checkpoint, trying an older one: ", status.message()));
      return;
    }
    context_->Finish(
        absl::Status(status.code(), absl::StrCat("can't load the model: ", status.message())));
    return;
  }
  // A removal that is hopeless does not make the campaign so: the next save asks for it again.
  const bool removing = op == TrainerOp::kRemove;
  if (removing) obsolete_.clear();
  if ((!removing && IsPermanent(Operation::kCall, status)) || ++failures_ >= kFailuresMax) {
    context_->Finish(absl::Status(status.code(), absl::StrCat(name, ": ", status.message())));
    return;
  }
  if (op != TrainerOp::kProbe) {
    context_->Notice(absl::StrCat(name, " failed, asking again: ", status.message()));
  }
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    position_.reset();  // it holds another policy than we think
  } else {
    probed_ = false;
    if (down_since_ < 0) down_since_ = context_->now();
  }
  retry_at_ = context_->now() + kRetryDelay;
}

void TrainerDriver::Schedule(const Allowed& allowed) {
  CHECK(Idle());
  if (!probed_) {
    const uint64_t call = Start(TrainerOp::kProbe, "Trainer.GetInfo", kProbeDeadline);
    context_->Emit(action::Probe{call, kTrainer});
    return;
  }
  if (!allowed.compute) return;
  if (!position_) {
    StartLoad();
    return;
  }
  const int64_t learned = context_->plan().LearnedAt(context_->durable().position());
  if (*position_ < learned) {
    const v1::UpdateName name = context_->plan().NameOf(*position_ + 1);
    target_ = *position_ + 1;
    const uint64_t call =
        Start(TrainerOp::kReplay, absl::StrCat("Trainer.Update ", PhaseStep(name), " (again)"),
              kUpdateDeadline);
    context_->Emit(action::ReplayUpdate{call, name});
    return;
  }
  if (*position_ > learned) {  // all there is to do is hear its answer
    if (allowed.update) StartUpdate();
    return;
  }
  const int64_t position = context_->durable().position();
  if (context_->plan().CheckpointDue(position) && !context_->durable().CheckpointSaved(position)) {
    const uint64_t call =
        Start(TrainerOp::kSave,
              absl::StrCat("Trainer.SaveCheckpoint ", PhaseStep(context_->plan().NameOf(position))),
              kSaveDeadline);
    context_->Emit(action::SaveCheckpoint{call, context_->plan().CheckpointPath(position)});
    return;
  }
  if (!obsolete_.empty()) {
    const uint64_t call = Start(TrainerOp::kRemove, "Trainer.RemoveCheckpoints", kRemoveDeadline);
    context_->Emit(action::RemoveCheckpoints{call, obsolete_});
    return;
  }
  if (context_->durable().done()) {
    context_->Finish(absl::OkStatus());
    return;
  }
  // What has begun is finished by the policy that began it. Were the rest of another, a step's
  // short completions, which end before a stream breaks, would be of an older one than its long
  // ones.
  for (const StepRecord& step : context_->durable().open_steps()) {
    if (step.Sampling()) return StartGenerate(step);
  }
  if (allowed.update) return StartUpdate();
  for (const StepRecord& step : context_->durable().open_steps()) {
    if (!step.HasAllRollouts()) return StartGenerate(step);
  }
}

void TrainerDriver::StartLoad() {
  // This is the newest checkpoint that loads or, before the first one, the campaign's model.
  const std::vector<CheckpointEntry>& saved = context_->durable().checkpoints();
  const bool base = load_choice_ >= saved.size();
  const std::string path =
      base ? context_->plan().campaign.model() : saved[saved.size() - 1 - load_choice_].path;
  target_ = base ? 0 : context_->plan().PositionOf(saved[saved.size() - 1 - load_choice_].name);
  const uint64_t call =
      Start(TrainerOp::kLoad, absl::StrCat("Trainer.LoadCheckpoint ", path), kLoadDeadline);
  load_path_ = path;
  context_->Emit(action::LoadPolicy{call, path});
}

void TrainerDriver::StartGenerate(const StepRecord& step) {
  step_ = step.step;
  groups_ = step.groups.size();
  v1::GenerateRequest request = BuildGenerate(context_->plan(), step);
  const uint64_t call =
      Start(TrainerOp::kGenerate, absl::StrCat("Trainer.Generate ", PhaseStep(StepName(step.step))),
            kGenerateSilenceDeadline);
  context_->Emit(action::Generate{call, std::move(request)});
}

void TrainerDriver::StartUpdate() {
  update_ = BuildUpdate(context_->plan(), context_->durable());
  target_ = context_->durable().position() + 1;
  const uint64_t call =
      Start(TrainerOp::kUpdate, absl::StrCat("Trainer.Update ", PhaseStep(update_.name())),
            kUpdateDeadline);
  context_->Emit(action::Update{call, update_});
}

void TrainerDriver::On(const event::TrainerProbed& e) {
  if (!Answers(e.call, TrainerOp::kProbe)) return;
  End();
  info_ = e.info;
  probed_ = true;
  down_since_ = -1;
  load_choice_ = 0;
  if (context_->plan().campaign.deterministic()) {
    const absl::Status ranks = CheckRanks(context_->durable().ranks(), e.info);
    if (!ranks.ok()) return context_->Finish(ranks);
  }
  SetPosition();
}

// Finds out which of our updates the policy it holds has seen, if it is ours at all.
void TrainerDriver::SetPosition() {
  const v1::TrainerInfo& info = info_;
  position_.reset();
  if (info.campaign_id() != context_->plan().campaign_id || info.model().empty()) return;
  if (!info.has_last_update()) {
    // It is fresh from LoadCheckpoint: of the model itself only if there is nothing else to load.
    if (context_->plan().LearnedAt(context_->durable().position()) == 0) position_ = 0;
    return;
  }
  const int64_t position = context_->plan().PositionOf(info.last_update());
  if (position <= context_->durable().position()) {
    position_ = position;
  } else if (position == context_->durable().position() + 1 && !context_->durable().done() &&
             context_->durable().evaluation() == nullptr &&
             (context_->durable().step() == 0 ||
              context_->durable().open_steps().front().HasAllVerdicts())) {
    // It did the update, and its answer was lost: asked again, it repeats the answer.
    position_ = position;
  }
}

void TrainerDriver::On(const event::PolicyLoaded& e) {
  if (!Answers(e.call, TrainerOp::kLoad)) return;
  Succeed();
  position_ = target_;
  load_choice_ = 0;
  context_->Record(LoadEntry{load_path_, e.response.info().version(), e.response.info().host_id(),
                             e.response.info().model_sha256()});
}

void TrainerDriver::On(const event::Prompt& e) {
  if (!Answers(e.call, TrainerOp::kGenerate)) return;
  deadline_ = context_->now() + kGenerateSilenceDeadline;
  const std::deque<GroupRecord>& groups = context_->durable().FindStep(step_)->groups;
  const size_t group_index = static_cast<size_t>(e.prompt.group_index());
  if (group_index >= groups.size()) return;
  if (!groups[group_index].prompt) context_->Record(PromptEntry{step_, e.prompt});
}

std::optional<int64_t> TrainerDriver::On(const event::Completion& e) {
  if (!Answers(e.call, TrainerOp::kGenerate)) return std::nullopt;
  deadline_ = context_->now() + kGenerateSilenceDeadline;
  const std::deque<GroupRecord>& groups = context_->durable().FindStep(step_)->groups;
  const size_t group_index = static_cast<size_t>(e.completion.group_index());
  const size_t sample = static_cast<size_t>(e.completion.sample());
  if (group_index >= groups.size() || sample >= groups[group_index].samples.size())
    return std::nullopt;
  if (groups[group_index].samples[sample].completion) return std::nullopt;  // it came twice
  context_->Record(RolloutEntry{step_, e.completion});
  return step_;
}

void TrainerDriver::On(const event::Progress& e) {
  if (!Answers(e.call, TrainerOp::kGenerate)) return;
  deadline_ = context_->now() + kGenerateSilenceDeadline;
  progress_ = e.progress;
}

void TrainerDriver::On(const event::GenerateEnded& e) {
  if (!Answers(e.call, TrainerOp::kGenerate)) return;
  if (!context_->durable().FindStep(step_)->HasRollouts(groups_)) {
    Fail(absl::InternalError("the stream ended before every completion had come"));
    return;
  }
  Succeed();
}

std::optional<v1::UpdateRequest> TrainerDriver::On(const event::UpdateDone& e) {
  const bool repeated = Answers(e.call, TrainerOp::kReplay);
  if (!repeated && !Answers(e.call, TrainerOp::kUpdate)) return std::nullopt;
  Succeed();
  position_ = target_;
  if (repeated) return std::nullopt;
  return std::exchange(update_, {});
}

void TrainerDriver::On(const event::CheckpointSaved& e) {
  if (!Answers(e.call, TrainerOp::kSave)) return;
  Succeed();
  context_->Record(CheckpointEntry{context_->plan().NameOf(context_->durable().position()),
                                   e.response.path(), e.response.checksum(), e.response.bytes()});
  obsolete_ = ObsoleteCheckpoints(context_->plan(), context_->durable());
}

void TrainerDriver::On(const event::CheckpointsRemoved& e) {
  if (!Answers(e.call, TrainerOp::kRemove)) return;
  Succeed();
  obsolete_.clear();
  for (const std::string& failure : e.response.failures()) {
    context_->Notice(absl::StrCat("an old checkpoint stays: ", failure));
  }
}

}  // namespace whetstone
