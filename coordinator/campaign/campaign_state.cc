#include "coordinator/campaign/campaign_state.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/durable/eval_row.h"
#include "coordinator/durable/request_builders.h"

namespace whetstone {
namespace {

constexpr Seconds kLookEvery = 0.2;

// These are of the status line.
constexpr size_t kNamedWaits = 3;
constexpr Seconds kLongWait = 10;

}  // namespace

CampaignState::CampaignState(const CampaignPlan* plan, const std::vector<std::string>& workers)
    : context_(plan),
      trainer_(&context_),
      members_(&context_, workers),
      measuring_(&context_, &members_) {}

std::vector<Action> CampaignState::Handle(const std::vector<CampaignEvent>& events, Seconds now) {
  if (finished()) return {};
  if (!started_) {
    started_ = true;
    step_since_ = now;
    context_.set_now(now);
    trainer_.Begin();
    measuring_.OpenSteps();
  }
  AccountTime(now);
  for (const CampaignEvent& event : events) {
    if (!finished()) std::visit([this](const auto& e) { On(e); }, event);
  }
  if (!finished()) Schedule();
  if (finished()) End();
  return context_.TakeActions();
}

void CampaignState::Schedule() {
  // Deadlines are seconds: with thousands of events a second they need no look after each.
  const bool look = context_.now() >= next_look_;
  if (look) {
    next_look_ = context_.now() + kLookEvery;
    CheckDeadlines();
  }
  if (finished()) return;
  const StepRecord* const evaluation = durable().evaluation();
  // A stream that is still open may bring a completion twice.
  if (evaluation != nullptr && evaluation->HasAllRollouts() && evaluation->HasAllVerdicts() &&
      !trainer_.Generates(evaluation->step)) {
    CloseEvaluation();
  }
  // Workers go first: timing that can run now runs before the trainer makes the machine loud again.
  members_.Schedule(trainer_.computes());
  measuring_.Schedule(trainer_.computes());
  while (FrozenStepComplete()) {
    CloseFrozenStep();
    measuring_.Schedule(trainer_.computes());
  }
  if (look) measuring_.Hedge(trainer_.computes());
  if (trainer_.Idle()) {
    trainer_.Schedule({.compute = !measuring_.TimesOnTrainersCores(),
                       .update = measuring_.UpdateReady() && !NextStepIsFrozen()});
  }
  measuring_.WatchWorkers(trainer_.computes());
}

void CampaignState::CheckDeadlines() {
  trainer_.CheckDeadlines();
  if (finished()) return;
  while (const std::optional<LostWorker> lost = members_.LoseOverdue()) WorkerLost(lost);
  if (finished()) return;
  measuring_.CheckAttempts();
  measuring_.CheckWorkers();
}

void CampaignState::End() {
  trainer_.Cancel();
  members_.Cancel();
  measuring_.Cancel();
  trainer_.Release();
  context_.Emit(action::Finish{*context_.end()});
}

// Books the time since the last event on what was going on meanwhile.
void CampaignState::AccountTime(Seconds now) {
  const Seconds spent = std::max(now - context_.now(), 0.0);
  context_.set_now(std::max(now, context_.now()));
  if (context_.paused()) {
    trainer_.Excuse(spent);
    measuring_.Excuse(spent);
  }
  const int in_flight = members_.dispatcher().in_flight();
  if (in_flight > 0) times_.measure += spent;
  times_.slots_busy += in_flight * spent;
  switch (trainer_.op()) {
    case TrainerOp::kGenerate:
      times_.generate += spent;
      break;
    case TrainerOp::kUpdate:
      times_.update += spent;
      break;
    case TrainerOp::kKeep:
    case TrainerOp::kLoad:
    case TrainerOp::kReplay:
      times_.prepare += spent;
      break;
    case TrainerOp::kSave:
    case TrainerOp::kRemove:
      times_.checkpoint += spent;
      break;
    case TrainerOp::kProbe:
    case TrainerOp::kNone:
      if (in_flight > 0) {
        times_.wait_verdicts += spent;
      } else if (context_.paused() && !members_.AnyPrepares()) {
        step_since_ += spent;  // It is no time of the step's.
      } else if (trainer_.lost() || (members_.lost() && !members_.AnyPrepares())) {
        times_.wait_services += spent;
      } else {
        times_.prepare += spent;
      }
  }
}

void CampaignState::On(const event::ServiceReady& e) {
  if (e.service == kTrainer) return trainer_.On(e);
  WorkerLost(members_.On(e));
}

void CampaignState::On(const event::ServiceLost& e) {
  if (e.service == kTrainer) return trainer_.On(e);
  WorkerLost(members_.On(e));
}

void CampaignState::On(const event::ServiceFailed& e) {
  if (e.service == kTrainer) return trainer_.On(e);
  WorkerLost(members_.On(e));
}

// A call is of one of the three.
void CampaignState::On(const event::CallFailed& e) {
  trainer_.On(e);
  WorkerLost(members_.On(e));
  measuring_.On(e);
}

void CampaignState::WorkerLost(const std::optional<LostWorker>& lost) {
  if (!lost) return;
  measuring_.WorkerLost(*lost);
  if (members_.dispatcher().all_gone()) {
    context_.Finish(
        absl::UnavailableError(absl::StrCat("no worker is left: ", lost->why.message())));
  }
}

void CampaignState::On(const event::TrainerProbed& e) {
  trainer_.On(e);
  members_.SetTrainer(trainer_.info());
}

void CampaignState::On(const event::Completion& e) {
  const std::optional<int64_t> step = trainer_.On(e);
  if (!step) return;
  times_.generated_tokens += TokenCount(e.completion);
  measuring_.AddCandidate(*step, e.completion.group_index(), e.completion.sample());
}

void CampaignState::On(const event::UpdateDone& e) {
  std::optional<v1::UpdateRequest> request = trainer_.On(e);
  if (request) CloseStep(*std::move(request), e.response);
}

void CampaignState::On(const event::RemoveWorker& e) {
  if (!members_.gone(e.worker)) measuring_.Withdraw(e.worker);
  members_.On(e);
}

void CampaignState::On(const event::Pause&) {
  if (context_.paused()) return;
  context_.Pause();
  context_.Notice("paused: what runs ends, and nothing new begins until whet unpause");
}

void CampaignState::On(const event::Unpause&) {
  if (!context_.paused()) return;
  context_.Notice(absl::StrFormat("goes on after a pause of %.0f s",
                                  context_.now() - *context_.paused_since()));
  context_.Unpause();
}

// Nothing is saved for it, which could take longer than an operator waits: the journal makes every
// moment one to go on from.
void CampaignState::On(const event::Stop&) {
  const CampaignPlan& plan = context_.plan();
  const int64_t position = durable().position();
  std::string text =
      absl::StrCat("stopped ", position == 0 ? "before the first update"
                                             : "after " + PhaseStep(plan.NameOf(position)));
  const int64_t saved =
      durable().checkpoints().empty() ? 0 : plan.PositionOf(durable().checkpoints().back().name);
  if (const int64_t learned = plan.LearnedAt(position); learned > saved) {
    absl::StrAppend(&text, "; resuming repeats ", learned - saved, " update(s) from the journal");
  }
  for (const StepRecord& step : durable().open_steps()) {
    if (step.rollouts == 0) continue;
    absl::StrAppend(&text, "; of ", PhaseStep(StepName(step.step)), " it keeps ", step.rollouts,
                    " rollout(s) and ", step.verdicts, " verdict(s)");
  }
  context_.Finish(absl::CancelledError(text));
}

bool CampaignState::NextStepIsFrozen() const {
  const int64_t next = durable().position() + 1;
  return next <= context_.plan().updates() && context_.plan().LearnedAt(next) < next;
}

// Nothing is learned from the step whose update is next, and all of it is there.
bool CampaignState::FrozenStepComplete() const {
  return NextStepIsFrozen() && durable().step() > 0 && measuring_.UpdateReady() &&
         !trainer_.Generates(durable().step());
}

void CampaignState::CloseFrozenStep() {
  v1::UpdateRequest request = BuildUpdate(context_.plan(), durable());
  v1::UpdateResponse unchanged;
  *unchanged.mutable_name() = request.name();
  CloseStep(std::move(request), unchanged);
}

// The update that `request` asked for is done: with its row it becomes part of the journal.
void CampaignState::CloseStep(v1::UpdateRequest request, const v1::UpdateResponse& response) {
  const Dispatcher& dispatcher = members_.dispatcher();
  times_.step = context_.now() - step_since_;
  for (int w = 0; w < dispatcher.size(); ++w) {
    if (!dispatcher.up(w)) continue;
    times_.slots += dispatcher.traits(w).slots;
    times_.slots_share_cores |= dispatcher.traits(w).shares_cores;
  }
  std::map<std::string, double> row =
      BuildRow(context_.plan(), durable(), request, response, times_);
  action::StepDone done{request.name(), row, RowLine(context_.plan(), request.name(), row)};
  if (request.profile()) {
    absl::StrAppend(&done.line, "\n  ",
                    StepBottleneck(context_.plan(), row, response.bottleneck()));
  }
  if (!response.applied() && !response.skip_reason().empty()) {
    context_.Notice(absl::StrCat(PhaseStep(request.name()),
                                 ": update skipped, weights unchanged: ", response.skip_reason()));
  }
  const v1::UpdateName name = request.name();
  context_.Record(UpdateEntry{name, RequestHash(context_.plan(), std::move(request)), response,
                              std::move(row)});
  context_.Emit(std::move(done));
  BeginTimes();
  measuring_.OpenSteps();
}

// The evaluation is complete: with its row it becomes part of the journal.
void CampaignState::CloseEvaluation() {
  times_.step = context_.now() - step_since_;
  const StepRecord& evaluation = *durable().evaluation();
  const v1::UpdateName name = StepName(evaluation.step);
  std::map<std::string, double> row = BuildEvalRow(evaluation, times_);
  action::StepDone done{name, row, EvalLine(name, row)};
  context_.Record(EvaluationEntry{name, std::move(row)});
  context_.Emit(std::move(done));
  BeginTimes();
  measuring_.OpenSteps();
}

void CampaignState::BeginTimes() {
  step_since_ = context_.now();
  times_ = StepTimes();
}

std::vector<Wait> CampaignState::Waits() const {
  std::vector<Wait> waits;
  if (finished()) return waits;
  if (context_.paused()) {
    // A person takes as long as they like; until then the trainer hears of this campaign.
    waits.push_back({"whet unpause", *context_.paused_since(), context_.now() + kSignOfLife});
  }
  trainer_.AddWaits(&waits);
  members_.AddWaits(&waits);
  measuring_.AddWaits(&waits);
  return waits;
}

std::vector<std::string> CampaignState::Running() const {
  std::vector<std::string> running;
  for (Wait& wait : Waits()) {
    if (wait.computes) running.push_back(std::move(wait.name));
  }
  return running;
}

std::string CampaignState::StatusLine(Seconds now) const {
  const std::deque<StepRecord>& open = durable().open_steps();
  std::string line;
  if (durable().done()) line = "all updates done";
  if (open.empty() && !durable().done()) {
    line = PhaseStep(context_.plan().NameOf(durable().position() + 1));
  }
  for (const StepRecord& step : open) {
    const bool ahead = &step != &open.front();
    if (ahead && step.rollouts == 0) break;
    absl::StrAppend(&line, ahead ? ", " : "", PhaseStep(StepName(step.step)), ": ", step.rollouts,
                    "/", step.size(), " completions, ", step.verdicts, " verdicts");
  }
  if (trainer_.op() == TrainerOp::kGenerate && trainer_.progress().tokens() > 0) {
    absl::StrAppend(&line, ", ", trainer_.progress().tokens(), " tokens");
  }
  if (context_.paused()) line = absl::StrCat("paused; ", line);
  std::vector<Wait> waits = Waits();
  if (waits.empty()) return line;
  absl::StrAppendFormat(&line, "; %.0f s waiting for %s", now - waits[0].since, waits[0].name);
  // Of the others those are named that take long, the longest first, as far as a line goes.
  std::sort(waits.begin() + 1, waits.end(),
            [](const Wait& a, const Wait& b) { return a.since < b.since; });
  size_t named = 1;
  for (; named < std::min(waits.size(), kNamedWaits); ++named) {
    const Seconds waited = now - waits[named].since;
    if (waited <= kLongWait) break;
    absl::StrAppendFormat(&line, ", %.0f s for %s", waited, waits[named].name);
  }
  if (waits.size() > named) absl::StrAppend(&line, " and ", waits.size() - named, " more");
  return line;
}

}  // namespace whetstone
