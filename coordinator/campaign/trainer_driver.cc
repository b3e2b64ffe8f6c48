#include "coordinator/campaign/trainer_driver.h"

#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
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
  if (computes()) broken_off_ = op_name_;
  Cancel();
  up_ = probed_ = false;
  held_since_ = -1;
  position_.reset();
  last_error_ = e.detail;
  if (down_since_ < 0) down_since_ = context_->now();
  if (broken_off_.empty() || ++losses_ < kLossesMax) return;
  context_->Finish(absl::UnavailableError(
      absl::StrCat("the trainer was lost ", losses_, " times, the last time in ", broken_off_,
                   ", and got no further between; its log says why: ", e.detail)));
}

void TrainerDriver::On(const event::ServiceFailed& e) {
  context_->Finish(absl::UnavailableError(absl::StrCat("the trainer is gone: ", e.detail)));
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
  broken_off_.clear();
  told_at_ = context_->now();
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
  if (absl::IsAborted(status) || (!removing && IsPermanent(Operation::kCall, status)) ||
      (op != TrainerOp::kProbe && ++failures_ >= kFailuresMax)) {
    context_->Finish(absl::Status(status.code(), absl::StrCat(name, ": ", status.message())));
    return;
  }
  if (op != TrainerOp::kProbe) {
    broken_off_ = name;
    context_->Notice(absl::StrCat(name, " failed, asking again: ", status.message()));
  }
  const bool loading = op == TrainerOp::kLoad || op == TrainerOp::kKeep;
  if (status.code() == absl::StatusCode::kFailedPrecondition && !loading) {
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
    context_->Emit(action::Probe{call, kTrainer, holder_});
    return;
  }
  StartNext(allowed);
  const bool silent = op_ == TrainerOp::kNone && !context_->end();
  if (!silent || !current_ || context_->now() < told_at_ + kSignOfLife) return;
  // Nothing waits for its answer.
  told_at_ = context_->now();
  sign_call_ = context_->NewCall();
  context_->Emit(action::Probe{sign_call_, kTrainer, holder_});
}

void TrainerDriver::StartNext(const Allowed& allowed) {
  if (!allowed.compute) return;
  if (!position_) return StartLoad();
  if (!current_) return StartKeep();
  if (context_->paused()) return;
  const int64_t learned = context_->plan().LearnedAt(context_->durable().position());
  if (*position_ < learned) {
    const v1::UpdateName name = context_->plan().NameOf(*position_ + 1);
    target_ = *position_ + 1;
    const uint64_t call =
        Start(TrainerOp::kReplay, absl::StrCat("Trainer.Update ", PhaseStep(name), " (again)"),
              kUpdateDeadline);
    context_->Emit(action::ReplayUpdate{call, name, holder_});
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
    context_->Emit(
        action::SaveCheckpoint{call, context_->plan().CheckpointPath(position), holder_});
    return;
  }
  if (!obsolete_.empty()) {
    const uint64_t call = Start(TrainerOp::kRemove, "Trainer.RemoveCheckpoints", kRemoveDeadline);
    context_->Emit(action::RemoveCheckpoints{call, obsolete_, holder_});
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

void TrainerDriver::StartKeep() {
  const uint64_t call =
      Start(TrainerOp::kKeep, "Trainer.LoadCheckpoint (the policy that is there)", kLoadDeadline);
  current_ = false;
  context_->Emit(action::LoadPolicy{.call = call, .path = "", .steal = steal_ && !held_});
}

void TrainerDriver::StartLoad() {
  // This is the newest checkpoint that loads or, before the first one, the campaign's model.
  const std::vector<CheckpointEntry>& saved = context_->durable().checkpoints();
  action::LoadPolicy load{.path = context_->plan().campaign.model(), .steal = steal_ && !held_};
  target_ = 0;
  if (load_choice_ < saved.size()) {
    const CheckpointEntry& checkpoint = saved[saved.size() - 1 - load_choice_];
    load.path = checkpoint.path;
    load.checksum = checkpoint.checksum;
    target_ = context_->plan().PositionOf(checkpoint.name);
  }
  load.call =
      Start(TrainerOp::kLoad, absl::StrCat("Trainer.LoadCheckpoint ", load.path), kLoadDeadline);
  load_path_ = load.path;
  current_ = false;
  context_->Emit(std::move(load));
}

void TrainerDriver::StartGenerate(const StepRecord& step) {
  step_ = step.step;
  groups_ = step.groups.size();
  v1::GenerateRequest request = BuildGenerate(context_->plan(), step);
  *request.mutable_holder() = holder_;
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
  action::Update update{call, update_};
  *update.request.mutable_holder() = holder_;
  context_->Emit(std::move(update));
}

void TrainerDriver::On(const event::TrainerProbed& e) {
  const bool asked = Answers(e.call, TrainerOp::kProbe);
  if (!asked && e.call != sign_call_) return;
  if (asked) End();
  const bool by_same = e.info.held_by() == info_.held_by();
  info_ = e.info;
  const bool by_another =
      !info_.held_by().empty() && info_.held_by() != context_->plan().campaign_id;
  if (by_another && held_) {
    return context_->Finish(absl::AbortedError(absl::StrCat(
        "the trainer serves ", OtherHolder(), ", no longer this one; --steal takes it back")));
  }
  if (!asked) return;
  down_since_ = -1;
  if (by_another && !steal_) {
    failures_ = 0;  // whoever was faster than we is no failure
    if (held_since_ < 0 || !by_same) {
      held_since_ = context_->now();
      context_->Notice(absl::StrCat("waiting for the trainer, which serves ", OtherHolder()));
    }
    retry_at_ = context_->now() + kRetryDelay;
    return;
  }
  held_since_ = -1;
  told_at_ = context_->now();
  probed_ = true;
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
  const bool kept = Answers(e.call, TrainerOp::kKeep);
  if (!kept && !Answers(e.call, TrainerOp::kLoad)) return;
  Succeed();
  const absl::Status held = CheckHeld(e.response);
  if (!held.ok()) return context_->Finish(held);
  held_ = current_ = true;
  holder_ = e.response.holder();
  if (kept) {
    info_ = e.response.info();
    SetPosition();
    return;
  }
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
  failures_ = losses_ = 0;
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
  failures_ = losses_ = 0;
  return std::exchange(update_, {});
}

void TrainerDriver::On(const event::CheckpointSaved& e) {
  if (!Answers(e.call, TrainerOp::kSave)) return;
  Succeed();
  failures_ = losses_ = 0;
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
