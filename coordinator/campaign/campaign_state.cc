#include "coordinator/campaign/campaign_state.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/campaign/deadlines.h"

namespace whetstone {
namespace {

constexpr Seconds kLookEvery = 0.2;

}  // namespace

CampaignState::CampaignState(const CampaignPlan* plan, const std::vector<std::string>& workers)
    : plan_(plan),
      ledger_(plan),
      dispatcher_(static_cast<int>(workers.size())),
      workers_(workers.size()) {
  for (size_t w = 0; w < workers.size(); ++w) workers_[w].name = workers[w];
}

std::vector<Action> CampaignState::Handle(const std::vector<Event>& events, Seconds now) {
  actions_.clear();
  if (finished_) return {};
  if (!started_) {
    started_ = true;
    now_ = step_since_ = trainer_.down_since = now;
    OpenSteps();
  }
  Spend(now);
  for (const Event& event : events) {
    if (!finished_) std::visit([this](const auto& e) { On(e); }, event);
  }
  Pump();
  return std::move(actions_);
}

void CampaignState::Pump() {
  if (finished_) return;
  // Deadlines are seconds: with thousands of events a second they need no look after each.
  const bool look = now_ >= next_look_;
  if (look) {
    next_look_ = now_ + kLookEvery;
    CheckDeadlines();
  }
  if (finished_) return;
  // Workers first: timing that can run now runs before the trainer makes the machine loud again.
  PumpWorkers();
  if (finished_) return;
  if (look) HedgeStragglers();
  PumpTrainer();
  WatchWorkers();
}

void CampaignState::Record(Fact fact) {
  ledger_.Apply(fact);
  Emit(action::Record{std::move(fact)});
}

void CampaignState::Finish(absl::Status status) {
  if (finished_) return;
  if (trainer_.op != TrainerOp::kNone) Emit(action::CancelCall{trainer_.call});
  for (const WorkerState& worker : workers_) {
    if (worker.put != 0) Emit(action::CancelCall{worker.put});
    if (worker.probe != 0) Emit(action::CancelCall{worker.probe});
  }
  for (const Job* job : OpenJobs()) {
    for (const Attempt& a : job->running) Emit(action::CancelCall{a.call});
  }
  finished_ = true;
  Emit(action::Finish{std::move(status)});
}

// Books the time since the last event on what was going on meanwhile.
void CampaignState::Spend(Seconds now) {
  const Seconds spent = std::max(now - now_, 0.0);
  now_ = std::max(now, now_);
  const bool measuring = dispatcher_.in_flight() > 0;
  if (measuring) times_.measure += spent;
  times_.slots_busy += dispatcher_.in_flight() * spent;
  switch (trainer_.op) {
    case TrainerOp::kGenerate:
      times_.generate += spent;
      break;
    case TrainerOp::kUpdate:
    case TrainerOp::kReplay:
      times_.update += spent;
      break;
    case TrainerOp::kLoad:
    case TrainerOp::kSave:
    case TrainerOp::kRemove:
      times_.checkpoint += spent;
      break;
    case TrainerOp::kProbe:
    case TrainerOp::kNone:
      (measuring ? times_.wait_verdicts : times_.wait_services) += spent;
  }
}

void CampaignState::On(const event::ServiceReady& e) {
  if (e.service == kTrainer) {
    // Also when it never looked lost: the process may be another one.
    if (trainer_.op != TrainerOp::kNone) {
      Emit(action::CancelCall{trainer_.call});
      EndTrainer();
    }
    trainer_.up = true;
    trainer_.probed = false;
    trainer_.retry_at = 0;
    if (trainer_.down_since < 0) trainer_.down_since = now_;
    return;
  }
  if (dispatcher_.gone(e.service)) return;
  WorkerState& worker = workers_[static_cast<size_t>(e.service)];
  WorkerTrouble(e.service, absl::UnavailableError("the worker was started again"));
  worker.up = true;
  worker.last_error.clear();
  worker.retry_at = 0;
}

void CampaignState::On(const event::ServiceLost& e) {
  if (e.service == kTrainer) {
    Emit(action::Notice{absl::StrCat("lost the trainer: ", e.detail)});
    if (trainer_.op != TrainerOp::kNone) {
      Emit(action::CancelCall{trainer_.call});
      EndTrainer();
    }
    trainer_.up = trainer_.probed = false;
    trainer_.position.reset();
    trainer_.last_error = e.detail;
    if (trainer_.down_since < 0) trainer_.down_since = now_;
    return;
  }
  if (dispatcher_.gone(e.service)) return;
  WorkerState& worker = workers_[static_cast<size_t>(e.service)];
  Emit(action::Notice{absl::StrCat("lost ", worker.name, ": ", e.detail)});
  WorkerTrouble(e.service, absl::UnavailableError(e.detail));
  worker.up = false;
}

void CampaignState::On(const event::ServiceFailed& e) {
  if (e.service == kTrainer) {
    Finish(absl::UnavailableError(absl::StrCat("the trainer is gone: ", e.detail)));
    return;
  }
  if (dispatcher_.gone(e.service)) return;
  WorkerState& worker = workers_[static_cast<size_t>(e.service)];
  Emit(action::Notice{absl::StrCat(worker.name, " is gone: ", e.detail)});
  WorkerTrouble(e.service, absl::UnavailableError(e.detail));
  worker.up = false;
  dispatcher_.SetGone(e.service);
  if (dispatcher_.all_gone()) {
    Finish(absl::UnavailableError(absl::StrCat("no worker is left: ", e.detail)));
  }
}

void CampaignState::On(const event::CallFailed& e) {
  if (trainer_.op != TrainerOp::kNone && e.call == trainer_.call) {
    TrainerTrouble(e.status);
    return;
  }
  for (size_t w = 0; w < workers_.size(); ++w) {
    WorkerState& worker = workers_[w];
    if (e.call != worker.probe && e.call != worker.put) continue;
    if (e.call == worker.put && e.status.code() == absl::StatusCode::kInvalidArgument) {
      Finish(absl::InvalidArgumentError(
          absl::StrCat("problem ", plan_->problems[worker.put_problem].problem.id(),
                       " is not sound: ", e.status.message(), "; try: whet problem check FILE")));
      return;
    }
    if (e.call == worker.put && e.status.code() == absl::StatusCode::kFailedPrecondition) {
      On(event::ServiceFailed{static_cast<int>(w), std::string(e.status.message())});
      return;
    }
    if (e.call == worker.put && ++worker.put_failures >= kMeasureAttemptsMax) {
      On(event::ServiceFailed{
          static_cast<int>(w),
          absl::StrCat("it can't take problem ", plan_->problems[worker.put_problem].problem.id(),
                       ": ", e.status.message())});
      return;
    }
    WorkerTrouble(static_cast<int>(w), e.status);
    return;
  }
  if (Job* job = FindJob(e.call)) AttemptFailed(job, e.call, e.status);
}

void CampaignState::On(const event::Tick&) {}

// Nothing is saved for it, which could take longer than an operator waits: the journal makes every
// moment one to go on from.
void CampaignState::On(const event::Stop&) {
  const int64_t position = ledger_.position();
  std::string text =
      absl::StrCat("stopped ", position == 0 ? "before the first update"
                                             : "after " + PhaseStep(plan_->NameOf(position)));
  const int64_t saved =
      ledger_.checkpoints().empty() ? 0 : plan_->PositionOf(ledger_.checkpoints().back().name);
  if (position > saved) {
    absl::StrAppend(&text, "; resuming repeats ", position - saved, " update(s) from the journal");
  }
  for (const StepRecord& step : ledger_.open_steps()) {
    if (step.rollouts == 0) continue;
    absl::StrAppend(&text, "; of step ", step.step, " it keeps ", step.rollouts, " rollout(s) and ",
                    step.verdicts, " verdict(s)");
  }
  Finish(absl::CancelledError(text));
}

void CampaignState::CheckDeadlines() {
  if (trainer_.op != TrainerOp::kNone && now_ >= trainer_.deadline) {
    Emit(action::CancelCall{trainer_.call});
    TrainerTrouble(absl::DeadlineExceededError(
        absl::StrFormat("%s: no answer in %.0f s", trainer_.op_name, now_ - trainer_.since)));
  }
  if (finished_) return;
  if (trainer_.down_since >= 0 && now_ >= trainer_.down_since + kReturnDeadline) {
    Finish(absl::UnavailableError(
        absl::StrFormat("the trainer has not answered for %.0f s: %s", now_ - trainer_.down_since,
                        trainer_.last_error.empty() ? "no answer" : trainer_.last_error)));
    return;
  }
  for (size_t w = 0; w < workers_.size(); ++w) {
    WorkerState& worker = workers_[w];
    const bool probe_late = worker.probe != 0 && now_ >= worker.probe_deadline;
    const bool put_late = worker.put != 0 && now_ >= worker.put_deadline;
    if (!probe_late && !put_late) continue;
    WorkerTrouble(static_cast<int>(w),
                  absl::DeadlineExceededError(
                      absl::StrCat(worker.name, " did not answer ",
                                   put_late ? "Worker.PutProblem" : "Worker.GetInfo", " in time")));
  }
  for (Job* job : OpenJobs()) {
    for (const Attempt& a : std::vector<Attempt>(job->running)) {
      if (now_ < a.deadline) continue;
      Emit(action::CancelCall{a.call});
      AttemptFailed(job, a.call,
                    absl::DeadlineExceededError(absl::StrFormat(
                        "%s gave no verdict in %.0f s",
                        workers_[static_cast<size_t>(a.worker)].name, now_ - a.since)));
    }
  }
  if (no_worker_since_ >= 0 && now_ >= no_worker_since_ + kReturnDeadline) {
    std::string why = "there is none; add one with: whet workers RUN add";
    for (int w = 0; w < dispatcher_.size(); ++w) {
      if (dispatcher_.gone(w)) continue;
      const std::string& error = workers_[static_cast<size_t>(w)].last_error;
      why = error.empty() ? "no answer" : error;
    }
    Finish(absl::UnavailableError(absl::StrFormat("no worker has been reachable for %.0f s: %s",
                                                  now_ - no_worker_since_, why)));
  }
}

// Are there candidates, but nobody to measure them?
void CampaignState::WatchWorkers() {
  bool open = false, cared_for = dispatcher_.in_flight() > 0;
  for (int w = 0; w < dispatcher_.size() && !cared_for; ++w) {
    cared_for = workers_[static_cast<size_t>(w)].put != 0;
  }
  for (const StepWork& work : work_) {
    for (size_t j = work.first_open; j < work.jobs.size() && !cared_for; ++j) {
      if (work.jobs[j].done) continue;
      open = true;
      const std::string model = CpuModelOf(work, work.jobs[j].group);
      for (int w = 0; w < dispatcher_.size() && !cared_for; ++w) {
        cared_for = dispatcher_.up(w) && !dispatcher_.draining(w) &&
                    !workers_[static_cast<size_t>(w)].known.empty() &&
                    !dispatcher_.resting(w, now_) && dispatcher_.HasModel(w, model);
      }
    }
  }
  if (!open || cared_for) {
    no_worker_since_ = -1;
  } else if (no_worker_since_ < 0) {
    no_worker_since_ = now_;
  }
}

std::vector<Wait> CampaignState::Waits() const {
  std::vector<Wait> waits;
  if (finished_) return waits;
  if (trainer_.op != TrainerOp::kNone) {
    waits.push_back({trainer_.op_name, trainer_.since, trainer_.deadline});
  } else if (trainer_.down_since >= 0) {
    waits.push_back(
        {"the trainer to come back", trainer_.down_since, trainer_.down_since + kReturnDeadline});
  }
  for (size_t w = 0; w < workers_.size(); ++w) {
    const WorkerState& worker = workers_[w];
    if (worker.probe != 0) {
      waits.push_back({absl::StrCat(worker.name, " to say what it is"),
                       worker.probe_deadline - kProbeDeadline, worker.probe_deadline});
    }
    if (worker.put != 0) {
      waits.push_back({absl::StrCat(worker.name, " to prepare problem ",
                                    plan_->problems[worker.put_problem].problem.id()),
                       worker.put_since, worker.put_deadline});
    }
  }
  for (const StepWork& work : work_) {
    for (const Job& job : work.jobs) {
      for (const Attempt& a : job.running) {
        waits.push_back(
            {absl::StrCat("verdict of ", job.step, "/", job.group, "/", job.samples.front(),
                          " from ", workers_[static_cast<size_t>(a.worker)].name),
             a.since, a.deadline});
      }
    }
  }
  if (no_worker_since_ >= 0) {
    waits.push_back({"a worker", no_worker_since_, no_worker_since_ + kReturnDeadline});
  }
  return waits;
}

std::string CampaignState::StatusLine(Seconds now) const {
  std::string line =
      ledger_.done() ? "all updates done" : PhaseStep(plan_->NameOf(ledger_.position() + 1));
  for (const StepRecord& step : ledger_.open_steps()) {
    const bool ahead = step.step != ledger_.step();
    if (ahead && step.rollouts == 0) break;
    absl::StrAppend(&line, ahead ? absl::StrCat(", step ", step.step) : "", ": ", step.rollouts,
                    "/", step.groups.size() * step.groups[0].samples.size(), " completions, ",
                    step.verdicts, " verdicts");
  }
  if (trainer_.op == TrainerOp::kGenerate && trainer_.progress.tokens() > 0) {
    absl::StrAppend(&line, ", ", trainer_.progress.tokens(), " tokens");
  }
  const std::vector<Wait> waits = Waits();
  if (!waits.empty()) {
    absl::StrAppend(
        &line, absl::StrFormat("; %.0f s waiting for %s", now - waits[0].since, waits[0].name));
    if (waits.size() > 1) absl::StrAppend(&line, " and ", waits.size() - 1, " more");
  }
  return line;
}

}  // namespace whetstone
