#include "coordinator/loop/campaign_loop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/config/campaign_rules.h"
#include "coordinator/durable/request_builders.h"

namespace whetstone {
namespace {

constexpr auto kTick = std::chrono::seconds(1);

// Returns a call's options, with a deadline that only catches what the core misses: the core ends a
// call that takes too long, and says so by name; this leaves it the time to do so.
CallOptions Net(Seconds deadline, CallControl* control) {
  return {std::chrono::milliseconds(static_cast<int64_t>((deadline + 30) * 1000)), control};
}

// The campaign's end waits so long for the trainer to hear of it.
constexpr auto kReleaseDeadline = std::chrono::seconds(2);

// A generation may take as long as it shows signs of life.
constexpr Seconds kGenerateNet = 24 * 3600;

}  // namespace

CampaignLoop::CampaignLoop(const CampaignPlan* plan, LoopHooks hooks)
    : plan_(plan), hooks_(std::move(hooks)), workers_(hooks_.workers) {}

CampaignLoop::~CampaignLoop() {
  for (const auto& [number, control] : calls_) control->Cancel();
}

absl::Status CampaignLoop::Run(CampaignState* state) {
  const absl::Status status = RunUntilFinished(state);
  std::vector<Question> unanswered;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    unanswered.swap(news_.questions);
  }
  for (const Question& question : unanswered) question(nullptr, Now());
  return status;
}

// In the main loop events go to the core, the entries it makes go to the journal, and then the
// calls it asks for are started.
absl::Status CampaignLoop::RunUntilFinished(CampaignState* state) {
  Seconds last_tick = Now();
  while (!state->finished()) {
    // All that came meanwhile takes one commit of the journal.
    const News news = Next();
    for (const uint64_t call : news.ended_calls) calls_.erase(call);
    const absl::Status done = Perform(*state, state->Handle(news.events, Now()));
    for (const Question& question : news.questions) question(done.ok() ? state : nullptr, Now());
    RETURN_IF_ERROR(done);
    // A steady stream of events must not keep deadlines from being looked at.
    if (Now() - last_tick >= 1 && !state->finished()) {
      last_tick = Now();
      RETURN_IF_ERROR(Perform(*state, state->Handle({event::Tick{}}, last_tick)));
      if (hooks_.on_status) hooks_.on_status(state->StatusLine(last_tick));
    }
  }
  return result_;
}

void CampaignLoop::Post(CampaignEvent event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  news_.events.push_back(std::move(event));
  arrived_.notify_one();  // under the lock: Run may see the event, end, and the loop be gone
}

void CampaignLoop::Ask(Question question) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!ended_) {
    news_.questions.push_back(std::move(question));
    arrived_.notify_one();
    return;
  }
  lock.unlock();
  question(nullptr, Now());
}

CampaignLoop::News CampaignLoop::Next() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto any = [this] { return !news_.events.empty() || !news_.questions.empty(); };
  if (!arrived_.wait_for(lock, kTick, any)) news_.events.push_back(event::Tick{});
  return std::exchange(news_, {});
}

Seconds CampaignLoop::Now() const {
  return std::chrono::duration<double>(hooks_.clock->Now()).count();
}

absl::Status CampaignLoop::Perform(const CampaignState& state, std::vector<Action> actions) {
  std::vector<JournalEntry> entries;
  for (Action& action : actions) {
    if (auto* record = std::get_if<action::Record>(&action)) {
      entries.push_back(std::move(record->entry));
    }
  }
  const bool closes_step = std::any_of(entries.begin(), entries.end(), ClosesStep);
  std::optional<v1::StateSnapshot> snapshot;
  if (closes_step && state.durable().SnapshotPossible() && hooks_.journal->SnapshotDue()) {
    snapshot = state.durable().Snapshot();
  }
  appended_us_ = hooks_.wall_time_us();
  RETURN_IF_ERROR(hooks_.journal->Append(entries, appended_us_, snapshot));
  for (const JournalEntry& entry : entries) {
    const auto* checkpoint = std::get_if<CheckpointEntry>(&entry);
    if (checkpoint != nullptr && hooks_.on_checkpoint) hooks_.on_checkpoint(*checkpoint);
  }
  for (Action& action : actions) {
    RETURN_IF_ERROR(std::visit([this](auto& a) { return Do(a); }, action));
  }
  return absl::OkStatus();
}

void CampaignLoop::Start(uint64_t number, std::function<CampaignEvent(CallControl*)> body) {
  const auto control = std::make_shared<CallControl>();
  calls_[number] = control;
  threads_.Run([this, number, control, body = std::move(body)] {
    CampaignEvent event = body(control.get());
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      news_.events.push_back(std::move(event));
      news_.ended_calls.push_back(number);
    }
    arrived_.notify_one();
  });
}

absl::Status CampaignLoop::Do(const action::Record&) {
  return absl::OkStatus();  // Perform has journaled it
}

absl::Status CampaignLoop::Do(const action::Probe& a) {
  if (a.service == kTrainer) {
    Start(a.call, [this, a](CallControl* control) -> CampaignEvent {
      v1::TrainerInfoRequest request;
      *request.mutable_holder() = a.holder;
      const auto info = hooks_.trainer->GetInfo(request, Net(kProbeDeadline, control));
      if (!info.ok()) return event::CallFailed{a.call, info.status()};
      return event::TrainerProbed{a.call, *info};
    });
    return absl::OkStatus();
  }
  WorkerClient* const worker = workers_[static_cast<size_t>(a.service)];
  Start(a.call, [a, worker](CallControl* control) -> CampaignEvent {
    const auto info = worker->GetInfo(Net(kProbeDeadline, control));
    if (!info.ok()) return event::CallFailed{a.call, info.status()};
    return event::WorkerProbed{a.call, *info};
  });
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::LoadPolicy& a) {
  v1::LoadCheckpointRequest request = BuildLoad(*plan_, a.path);
  request.set_expected_checksum(a.checksum);
  request.set_steal(a.steal);
  Start(a.call, [this, call = a.call, request](CallControl* control) -> CampaignEvent {
    auto reply = hooks_.trainer->LoadCheckpoint(request, Net(kLoadDeadline, control));
    if (!reply.ok()) return event::CallFailed{call, reply.status()};
    return event::PolicyLoaded{call, *std::move(reply)};
  });
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::Generate& a) {
  Start(a.call, [this, a](CallControl* control) -> CampaignEvent {
    const absl::Status status = hooks_.trainer->Generate(
        a.request,
        [&](const v1::GenerateEvent& e) {
          switch (e.event_case()) {
            case v1::GenerateEvent::kPrompt:
              return Post(event::Prompt{a.call, e.prompt()});
            case v1::GenerateEvent::kCompletion:
              return Post(event::Completion{a.call, e.completion()});
            case v1::GenerateEvent::kProgress:
              return Post(event::Progress{a.call, e.progress()});
            default:
              return;
          }
        },
        Net(kGenerateNet, control));
    if (!status.ok()) return event::CallFailed{a.call, status};
    return event::GenerateEnded{a.call};
  });
  return absl::OkStatus();
}

void CampaignLoop::SendUpdate(uint64_t call, v1::UpdateRequest request) {
  Start(call, [this, call, request = std::move(request)](CallControl* control) -> CampaignEvent {
    auto reply = hooks_.trainer->Update(request, Net(kUpdateDeadline, control));
    if (!reply.ok()) return event::CallFailed{call, reply.status()};
    return event::UpdateDone{call, *std::move(reply)};
  });
}

absl::Status CampaignLoop::Do(action::Update& a) {
  SendUpdate(a.call, std::move(a.request));
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::ReplayUpdate& a) {
  ASSIGN_OR_RETURN(v1::UpdateRequest request, hooks_.journal->FindUpdateRequest(*plan_, a.name));
  *request.mutable_holder() = a.holder;
  SendUpdate(a.call, std::move(request));
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::SaveCheckpoint& a) {
  v1::SaveCheckpointRequest request;
  request.set_path(a.path);
  *request.mutable_holder() = a.holder;
  Start(a.call, [this, call = a.call, request](CallControl* control) -> CampaignEvent {
    auto reply = hooks_.trainer->SaveCheckpoint(request, Net(kSaveDeadline, control));
    if (!reply.ok()) return event::CallFailed{call, reply.status()};
    return event::CheckpointSaved{call, *std::move(reply)};
  });
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::RemoveCheckpoints& a) {
  v1::RemoveCheckpointsRequest request;
  request.mutable_paths()->Assign(a.paths.begin(), a.paths.end());
  *request.mutable_holder() = a.holder;
  Start(a.call, [this, call = a.call, request](CallControl* control) -> CampaignEvent {
    auto reply = hooks_.trainer->RemoveCheckpoints(request, Net(kRemoveDeadline, control));
    if (!reply.ok()) return event::CallFailed{call, reply.status()};
    return event::CheckpointsRemoved{call, *std::move(reply)};
  });
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::ReleaseTrainer& a) {
  hooks_.trainer->GetInfo(BuildRelease(a.holder), {kReleaseDeadline, nullptr}).IgnoreError();
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::PutProblem& a) {
  const PlannedProblem& problem = plan_->problems[a.problem];
  v1::PutProblemRequest request;
  *request.mutable_problem() = problem.problem;
  request.set_problem_hash(problem.hash);
  request.set_isolation_min(IsolationMin(plan_->campaign));
  if (a.has_calibration) *request.mutable_calibration() = a.calibration;
  const Seconds deadline = PutProblemDeadline(plan_->campaign, problem.problem);
  WorkerClient* const worker = workers_[static_cast<size_t>(a.worker)];
  Start(a.call, [call = a.call, request, deadline, worker](CallControl* control) -> CampaignEvent {
    auto reply = worker->PutProblem(request, Net(deadline, control));
    if (!reply.ok()) return event::CallFailed{call, reply.status()};
    return event::ProblemKnown{call, std::move(*reply->mutable_calibration())};
  });
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(action::Measure& a) {
  WorkerClient* const worker = workers_[static_cast<size_t>(a.worker)];
  Start(a.call,
        [call = a.call, request = std::move(a.request),
         worker](CallControl* control) -> CampaignEvent {
          // The core's deadline is per problem; the net only has to be longer than any.
          auto reply = worker->Measure(request, Net(3600, control));
          if (control->cancelled()) {
            // The connection's end does not stop the worker: this tries to free its slot.
            v1::CancelRequest cancel;
            cancel.add_candidate_ids(request.candidate_id());
            worker->Cancel(cancel, {std::chrono::seconds(2), nullptr}).IgnoreError();
          }
          if (!reply.ok()) return event::CallFailed{call, reply.status()};
          return event::VerdictArrived{call, std::move(*reply->mutable_verdict())};
        });
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::CancelCall& a) {
  if (const auto call = calls_.find(a.call); call != calls_.end()) call->second->Cancel();
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::WorkerLeft& a) {
  if (hooks_.on_worker_left) hooks_.on_worker_left(a.worker);
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::StepDone& a) {
  return hooks_.on_step ? hooks_.on_step(a, appended_us_) : absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::NewIncumbent& a) {
  return hooks_.on_incumbent ? hooks_.on_incumbent(a.entry) : absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::Suspect& a) {
  return hooks_.on_suspect ? hooks_.on_suspect(a.entry, a.source) : absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::Notice& a) {
  if (hooks_.on_notice) hooks_.on_notice(a.text);
  return absl::OkStatus();
}

absl::Status CampaignLoop::Do(const action::Finish& a) {
  result_ = a.status;
  return absl::OkStatus();
}

}  // namespace whetstone
