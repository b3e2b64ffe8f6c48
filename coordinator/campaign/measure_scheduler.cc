#include "coordinator/campaign/measure_scheduler.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/campaign/dispatcher.h"
#include "coordinator/durable/challengers.h"
#include "coordinator/durable/reward.h"

namespace whetstone {

void MeasureScheduler::OpenSteps() {
  const DurableState& durable = context_->durable();
  std::deque<StepMeasuring>& steps = queue_.steps();
  while (!steps.empty() && durable.FindStep(steps.front().step) == nullptr) queue_.CloseFront();
  for (const StepRecord& step : durable.open_steps()) {
    if (queue_.IsOpen(step.step)) continue;
    queue_.Open(step.step);
    for (size_t g = 0; g < step.groups.size(); ++g) {
      const std::vector<CandidateRecord>& samples = step.groups[g].samples;
      for (size_t s = 0; s < samples.size(); ++s) {
        if (samples[s].completion && !samples[s].verdict) {
          AddCandidate(step.step, static_cast<int>(g), static_cast<int>(s));
        }
      }
    }
  }
}

void MeasureScheduler::AddCandidate(int64_t step, int group_index, int sample) {
  StepMeasuring& measuring = queue_.StepOf(step);
  if (!recorder_.RecordWithoutMeasuring(step, group_index, sample)) {
    const GroupRecord& record =
        context_->durable().FindStep(step)->groups[static_cast<size_t>(group_index)];
    measuring.AddRollout(group_index, sample, *record.samples[static_cast<size_t>(sample)].source);
  }
  lost_.Judge(&measuring);
}

void MeasureScheduler::AddChallengers() {
  StepMeasuring& measuring = queue_.steps().front();
  measuring.challengers_added = true;
  for (const Challenger& challenger : FindChallengers(context_->plan(), context_->durable())) {
    MeasureJob job;
    job.step = measuring.step;
    job.challenger = true;
    job.group_index = challenger.group_index;
    job.samples = {challenger.sample};
    job.source = challenger.source;
    measuring.jobs.push_back(std::move(job));
  }
}

bool MeasureScheduler::UpdateReady() const {
  if (context_->durable().open_steps().empty()) return true;
  const StepRecord& next = context_->durable().open_steps().front();
  if (IsEvaluation(next.step) || !next.HasAllRollouts() || !next.HasAllVerdicts()) return false;
  const StepMeasuring& measuring = queue_.steps().front();
  return measuring.challengers_added && measuring.AllDone();
}

bool MeasureScheduler::TimesOnTrainersCores() const {
  if (members_->CalibratesOnTrainersCores()) return true;
  const Dispatcher& dispatcher = members_->dispatcher();
  bool any = false;
  for (int w = 0; w < dispatcher.size() && !any; ++w) {
    any = dispatcher.traits(w).shares_cores && dispatcher.in_flight(w) > 0;
  }
  return any && queue_.AnyRunning([&](const MeasureAttempt& a) {
    return a.timed && dispatcher.traits(a.worker).shares_cores;
  });
}

void MeasureScheduler::Schedule(bool trainer_computes) {
  if (queue_.steps().empty()) return;
  Dispatch(trainer_computes);
  const StepRecord& next = context_->durable().open_steps().front();
  if (IsEvaluation(next.step)) return;
  if (!queue_.steps().front().challengers_added && next.HasAllRollouts() && next.HasAllVerdicts()) {
    AddChallengers();
    Dispatch(trainer_computes);
  }
}

void MeasureScheduler::Dispatch(bool trainer_computes) {
  if (context_->paused()) return;
  for (StepMeasuring& step : queue_.steps()) {
    std::deque<MeasureJob>& jobs = step.jobs;
    while (step.first_open < jobs.size() && jobs[step.first_open].done) ++step.first_open;
    // Those that failed come after the others, which show whether the workers can measure at all.
    for (const bool failed : {false, true}) {
      for (size_t j = step.first_open; j < jobs.size(); ++j) {
        MeasureJob& job = jobs[j];
        if (job.failed_since.empty() == failed || !job.Waits()) continue;
        if (!members_->dispatcher().HasRoom(context_->now())) return;
        TryDispatch(&job, trainer_computes);
      }
    }
  }
}

void MeasureScheduler::Hedge(bool trainer_computes) {
  if (context_->paused()) return;
  for (MeasureJob* job : queue_.OpenJobs()) {
    if (!members_->dispatcher().HasRoom(context_->now())) return;
    TryHedge(job, trainer_computes);
  }
}

// Returns the model that the group is timed on, as advantages compare within it; empty: any yet.
std::string MeasureScheduler::CpuModelOf(const StepMeasuring& step, int group_index) const {
  const auto known = step.cpu_models.find(group_index);
  if (known != step.cpu_models.end()) return known->second;
  // The group was timed before this process was started, perhaps.
  const StepRecord& record = *context_->durable().FindStep(step.step);
  for (const CandidateRecord& candidate : record.groups[static_cast<size_t>(group_index)].samples) {
    if (!candidate.verdict || !candidate.verdict->verdict.timed()) continue;
    for (const int w : members_->WorkersOn(candidate.verdict->verdict.worker()))
      return members_->dispatcher().traits(w).cpu_model;
  }
  return "";
}

void MeasureScheduler::TryDispatch(MeasureJob* job, bool trainer_computes) {
  const std::string& hash = context_->plan().ProblemOf(job->step, job->group_index).hash;
  WorkNeed need;
  need.trainer_computes = trainer_computes;
  need.prefer = job->checked_by;
  need.avoid = job->failed_worker;
  need.alone = job->worker_losses > 0;
  need.cpu_model = CpuModelOf(queue_.StepOf(job->step), job->group_index);
  const auto knows = [&](int w) { return members_->Knows(w, hash); };
  need.timed = true;
  std::optional<int> worker = members_->dispatcher().Pick(need, context_->now(), knows);
  if (worker) return StartAttempt(job, *worker, /*timed=*/true);
  if (job->checked_by >= 0 || job->challenger || !need.trainer_computes) return;
  need.timed = false;
  worker = members_->dispatcher().Pick(need, context_->now(), knows);
  if (worker) StartAttempt(job, *worker, /*timed=*/false);
}

// A straggler gets a second attempt beside it, on another worker of its CPU model; the first
// verdict counts.
void MeasureScheduler::TryHedge(MeasureJob* job, bool trainer_computes) {
  if (job->running.size() != 1 || !job->running[0].timed || job->worker_losses > 0) return;
  const MeasureAttempt& first = job->running[0];
  const Seconds now = context_->now();
  if (now - first.since < StragglerAge(*job)) return;
  const std::string& hash = context_->plan().ProblemOf(job->step, job->group_index).hash;
  const Dispatcher& dispatcher = members_->dispatcher();
  WorkNeed need;
  need.timed = true;
  need.trainer_computes = trainer_computes;
  const std::optional<int> worker = dispatcher.Pick(need, now, [&](int w) {
    return w != first.worker && members_->Knows(w, hash) &&
           dispatcher.traits(w).cpu_model == dispatcher.traits(first.worker).cpu_model;
  });
  if (!worker) return;
  context_->Notice(absl::StrFormat("%.0f s for the verdict of %s from %s; asking %s too",
                                   now - first.since, job->Place(), members_->name(first.worker),
                                   members_->name(*worker)));
  StartAttempt(job, *worker, /*timed=*/true);
}

Seconds MeasureScheduler::StragglerAge(const MeasureJob& job) {
  const std::optional<Seconds> usual = queue_.StepOf(job.step).UsualDuration();
  if (!usual) {
    return MeasureDeadline(context_->plan().ProblemOf(job.step, job.group_index).problem) / 2;
  }
  return std::max(job.challenger ? kChallengerStragglerMin : kStragglerMin,
                  kStragglerFactor * *usual);
}

void MeasureScheduler::StartAttempt(MeasureJob* job, int worker, bool timed) {
  const CampaignPlan& plan = context_->plan();
  const PlannedProblem& problem = plan.ProblemOf(job->step, job->group_index);
  const MeasureAttempt attempt{context_->NewCall(), worker, timed, context_->now(),
                               context_->now() + MeasureDeadline(problem.problem)};
  queue_.Started(job, attempt);
  Dispatcher& dispatcher = members_->dispatcher();
  if (timed)
    queue_.StepOf(job->step).cpu_models.emplace(job->group_index,
                                                dispatcher.traits(worker).cpu_model);
  dispatcher.Started(worker, /*alone=*/job->worker_losses > 0);
  action::Measure measure{attempt.call, worker, {}};
  v1::MeasureRequest& request = measure.request;
  request.set_problem_hash(problem.hash);
  std::string id = plan.CandidateId(job->step, job->group_index, job->samples.front());
  if (job->challenger) absl::StrAppend(&id, "/fresh");
  if (job->retry_suffix > 0) absl::StrAppend(&id, "/again-", job->retry_suffix);
  request.set_candidate_id(std::move(id));
  request.set_source(job->source);
  request.set_time(timed);
  request.set_fresh(job->challenger);
  request.set_seed(plan.campaign.seed());
  context_->Emit(std::move(measure));
}

void MeasureScheduler::On(const event::CallFailed& e) {
  MeasureJob* const job = queue_.Find(e.call);
  if (job == nullptr) return;
  const auto attempt = FindAttempt(job, e.call);
  if (attempt != job->running.end()) AttemptFailed(job, MeasureAttempt(*attempt), e.status);
}

void MeasureScheduler::On(const event::VerdictArrived& e) {
  MeasureJob* const job = queue_.Find(e.call);
  if (job == nullptr) return;
  const auto attempt = FindAttempt(job, e.call);
  const absl::Status usable = CheckVerdict(e.verdict);
  const bool provisional = e.verdict.outcome() == v1::CORRECT && !e.verdict.timed();
  if (attempt == job->running.end()) {
    // This answers an attempt that was given up. A full verdict is still a verdict.
    queue_.Forget(e.call);
    if (usable.ok()) lost_.AnsweredLate();
    if (job->done || !usable.ok() || provisional) return;
    return Settle(job, 0, e.verdict);
  }
  const MeasureAttempt answered = *attempt;
  members_->CountVerdict(answered.worker);
  if (!usable.ok() || (provisional && answered.timed)) {
    ++job->retry_suffix;
    return AttemptFailed(
        job, answered,
        usable.ok() ? absl::InternalError("the worker answered without the timing asked for")
                    : usable);
  }
  members_->dispatcher().Ended(answered.worker, true, context_->now());
  job->running.erase(attempt);
  queue_.Forget(e.call);
  job->failures = 0;
  job->failed_since.clear();
  lost_.Answered(answered.worker, answered.since);
  if (provisional) {
    job->checked_by = answered.worker;
    return;
  }
  if (answered.timed) {
    queue_.StepOf(job->step).timed_in.push_back(context_->now() - answered.since);
  }
  Settle(job, answered.since, e.verdict);
}

void MeasureScheduler::Settle(MeasureJob* job, Seconds since, const v1::Verdict& verdict) {
  CancelAttempts(job, since);
  recorder_.Settle(job, verdict);
  lost_.Judge(&queue_.StepOf(job->step));
}

// No verdict is needed any more. One came from an attempt begun at `beaten_since`: a worker that
// had longer and has none is in trouble.
void MeasureScheduler::CancelAttempts(MeasureJob* job, Seconds beaten_since) {
  for (const MeasureAttempt& a : job->running) {
    context_->Emit(action::CancelCall{a.call});
    queue_.Forget(a.call);
    if (a.since < beaten_since) {
      members_->dispatcher().Ended(a.worker, false, context_->now());
    } else {
      members_->dispatcher().Cancelled(a.worker);
    }
  }
  job->running.clear();
}

// An attempt ended without a verdict, perhaps because its worker died.
void MeasureScheduler::AttemptFailed(MeasureJob* job, const MeasureAttempt& attempt,
                                     const absl::Status& status) {
  const int worker = attempt.worker;
  if (absl::IsUnavailable(status) && members_->dispatcher().up(worker)) {
    members_->Lose(worker, status);
    WorkerLost({worker, status});  // this ends the attempt too
    return;
  }
  members_->set_last_error(worker, status);
  EndAttempt(job, attempt, status);
}

// The attempt's number stays in the queue: its verdict may still come.
void MeasureScheduler::EndAttempt(MeasureJob* job, const MeasureAttempt& attempt,
                                  const absl::Status& status) {
  const int worker = attempt.worker;
  const auto running = FindAttempt(job, attempt.call);
  CHECK(running != job->running.end());
  job->running.erase(running);
  const bool unknown_problem = absl::IsFailedPrecondition(status);
  members_->dispatcher().Ended(worker, unknown_problem, context_->now());
  job->checked_by = -1;
  job->failed_worker = unknown_problem ? -1 : worker;
  ++job->failures;
  lost_.Failed(job, std::string(status.message()));
  if (unknown_problem) {
    members_->Forget(worker, context_->plan().ProblemOf(job->step, job->group_index).hash);
  }
  if (job->done) return;
  StepMeasuring* const step = &queue_.StepOf(job->step);
  if (job->worker_losses >= kWorkerLossesMax) {
    CancelAttempts(job, 0);
    lost_.Drop(
        step, job,
        absl::StrCat(job->worker_losses,
                     " workers were lost while they measured it, the last: ", status.message()));
  } else if (job->running.empty() && job->failures >= kAttemptsMax) {
    lost_.GiveUp(
        step, job,
        absl::StrCat("given up after ", job->failures, " attempts; the last: ", status.message()));
  }
}

void MeasureScheduler::WorkerLost(const LostWorker& lost) {
  for (MeasureJob* job : queue_.OpenJobs()) {
    for (const MeasureAttempt& a : std::vector<MeasureAttempt>(job->running)) {
      if (a.worker != lost.worker) continue;
      context_->Emit(action::CancelCall{a.call});
      ++job->worker_losses;
      EndAttempt(job, a, lost.why);
    }
  }
}

void MeasureScheduler::Withdraw(int worker) {
  for (MeasureJob* job : queue_.OpenJobs()) {
    for (const MeasureAttempt& a : std::exchange(job->running, {})) {
      if (a.worker != worker) {
        job->running.push_back(a);
        continue;
      }
      context_->Emit(action::CancelCall{a.call});
      queue_.Forget(a.call);
      members_->dispatcher().Cancelled(worker);
    }
  }
}

void MeasureScheduler::Cancel() {
  for (const MeasureJob* job : queue_.OpenJobs()) {
    for (const MeasureAttempt& a : job->running) context_->Emit(action::CancelCall{a.call});
  }
}

void MeasureScheduler::CheckAttempts() {
  for (MeasureJob* job : queue_.OpenJobs()) {
    for (const MeasureAttempt& a : std::vector<MeasureAttempt>(job->running)) {
      if (context_->now() < a.deadline) continue;
      context_->Emit(action::CancelCall{a.call});
      AttemptFailed(job, a,
                    absl::DeadlineExceededError(absl::StrFormat("%s gave no verdict in %.0f s",
                                                                members_->name(a.worker),
                                                                context_->now() - a.since)));
    }
  }
}

}  // namespace whetstone
