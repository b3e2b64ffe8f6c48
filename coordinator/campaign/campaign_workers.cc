// The workers' side of CampaignState: problems made known, candidates measured.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/campaign/campaign_state.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/campaign/reward.h"

namespace whetstone {
namespace {

// A candidate must beat the best so far by more than this to be worth measuring again.
constexpr double kLeaderMarginMin = 0.01;

}  // namespace

// Brings work_ in line with the ledger's open steps: forgets what is over, opens what is new, with
// a job for whatever is not measured yet (on resume, rollouts of an earlier process).
void CampaignState::OpenSteps() {
  while (!work_.empty() && ledger_.FindStep(work_.front().step) == nullptr) {
    const int64_t over = work_.front().step;
    std::erase_if(calls_, [over](const auto& call) { return call.second->step == over; });
    work_.pop_front();
  }
  for (const StepRecord& step : ledger_.open_steps()) {
    if (!work_.empty() && step.step <= work_.back().step) continue;
    work_.emplace_back(step.step);
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

CampaignState::StepWork& CampaignState::WorkOf(int64_t step) {
  return work_[static_cast<size_t>(step - work_.front().step)];
}

// That are not done, older steps' first.
std::vector<CampaignState::Job*> CampaignState::OpenJobs() {
  std::vector<Job*> open;
  for (StepWork& work : work_) {
    for (size_t j = work.first_open; j < work.jobs.size(); ++j) {
      if (!work.jobs[j].done) open.push_back(&work.jobs[j]);
    }
  }
  return open;
}

void CampaignState::AddCandidate(int64_t step, int group, int sample) {
  const std::vector<CandidateRecord>& samples =
      ledger_.FindStep(step)->groups[static_cast<size_t>(group)].samples;
  const CandidateRecord& record = samples[static_cast<size_t>(sample)];
  if (!record.source) {
    v1::Verdict verdict;
    verdict.set_outcome(v1::NO_CODE);
    verdict.set_detail("the completion holds no ```cpp block");
    verdict.set_worker("coordinator");
    RecordVerdict(step, group, sample, std::move(verdict));
    return;
  }
  // The same text in the same group: one measurement, a verdict for each. (Groups do not share:
  // each has its CPU model.)
  for (const CandidateRecord& twin : samples) {
    if (!twin.verdict || twin.source != record.source) continue;
    v1::Verdict verdict = twin.verdict->verdict;
    verdict.set_cached(true);
    RecordVerdict(step, group, sample, std::move(verdict));
    return;
  }
  StepWork& work = WorkOf(step);
  std::vector<Job*>& of_group = work.by_group[group];
  for (Job* job : of_group) {
    if (!job->done && job->source == *record.source) {
      job->samples.push_back(sample);
      return;
    }
  }
  Job job;
  job.step = step;
  job.group = group;
  job.samples = {sample};
  job.source = *record.source;
  of_group.push_back(&work.jobs.emplace_back(std::move(job)));
}

// Once every verdict of the step whose update is next is in: the fastest candidate of each group,
// if it may be its problem's best.
void CampaignState::AddLeaderJobs() {
  work_.front().leaders_added = true;
  const StepRecord& step = ledger_.open_steps().front();
  std::map<std::string, std::pair<int, int>> fastest;  // problem id → group, sample
  for (size_t g = 0; g < step.groups.size(); ++g) {
    const GroupRecord& group = step.groups[g];
    if (group.leader_checked) continue;
    const std::string& id = plan_->ProblemOf(step.step, static_cast<int>(g)).problem.id();
    const auto leader = ledger_.leaders().find(id);
    double bar = leader == ledger_.leaders().end() ? 1 : leader->second.verdict.speedup();
    if (const auto found = fastest.find(id); found != fastest.end()) {
      const auto& [fg, fs] = found->second;
      bar = std::max(bar, step.groups[static_cast<size_t>(fg)]
                              .samples[static_cast<size_t>(fs)]
                              .verdict->verdict.speedup());
    }
    for (size_t s = 0; s < group.samples.size(); ++s) {
      const v1::Verdict& verdict = group.samples[s].verdict->verdict;
      if (verdict.outcome() != v1::CORRECT || !group.samples[s].source) continue;
      if (std::log(verdict.speedup() / bar) <= std::max(verdict.noise_band(), kLeaderMarginMin)) {
        continue;
      }
      bar = verdict.speedup();
      fastest[id] = {static_cast<int>(g), static_cast<int>(s)};
    }
  }
  for (const auto& [id, at] : fastest) {
    Job job;
    job.step = step.step;
    job.leader = true;
    job.group = at.first;
    job.samples = {at.second};
    job.source =
        *step.groups[static_cast<size_t>(at.first)].samples[static_cast<size_t>(at.second)].source;
    work_.front().jobs.push_back(std::move(job));
  }
}

// Of the step whose update is next.
bool CampaignState::LeadersChecked() const {
  const StepWork& work = work_.front();
  return work.leaders_added &&
         std::all_of(work.jobs.begin(), work.jobs.end(), [](const Job& job) { return job.done; });
}

const v1::Calibration* CampaignState::CalibrationOf(int worker, const std::string& hash) const {
  if (worker < 0) return nullptr;
  return ledger_.FindCalibration(dispatcher_.traits(worker).host_id, hash);
}

// By what they said last.
std::vector<int> CampaignState::WorkersOn(const std::string& hostname) const {
  std::vector<int> found;
  const auto [begin, end] = by_hostname_.equal_range(hostname);
  for (auto it = begin; it != end; ++it) {
    if (workers_[static_cast<size_t>(it->second)].info.hostname() == hostname)
      found.push_back(it->second);
  }
  return found;
}

bool CampaignState::SharedTimingInFlight() const {
  bool shared = false;
  for (int w = 0; w < dispatcher_.size(); ++w) {
    if (!dispatcher_.traits(w).shares_cores) continue;
    const WorkerState& worker = workers_[static_cast<size_t>(w)];
    if (worker.put != 0 && worker.put_timed) return true;
    shared = shared || dispatcher_.in_flight(w) > 0;
  }
  const auto times_beside = [this](const Attempt& a) {
    return a.timed && dispatcher_.traits(a.worker).shares_cores;
  };
  for (const StepWork& work : work_) {
    for (size_t j = work.first_open; shared && j < work.jobs.size(); ++j) {
      const std::vector<Attempt>& running = work.jobs[j].running;
      if (std::any_of(running.begin(), running.end(), times_beside)) return true;
    }
  }
  return false;
}

// Which workers share cores with the trainer follows from what both say of themselves.
void CampaignState::UpdateTraits() {
  for (int w = 0; w < dispatcher_.size(); ++w) {
    if (!dispatcher_.up(w)) continue;
    WorkerTraits traits = dispatcher_.traits(w);
    traits.shares_cores = workers_[static_cast<size_t>(w)].SharesCoresWith(trainer_.info);
    dispatcher_.SetUp(w, std::move(traits));
  }
}

bool CampaignState::WorkerState::SharesCoresWith(const v1::TrainerInfo& trainer) const {
  // Nothing known of the trainer yet: be careful.
  if (trainer.host_id().empty()) return true;
  if (trainer.host_id() != info.host_id()) return false;
  // A GPU's policy still needs a core or two to drive it.
  const int trainer_cores =
      trainer.device().rfind("cuda", 0) == 0 ? 2 : std::max(trainer.threads(), 1);
  return trainer_cores + std::max(info.slot_cores_size(), 2 * info.slots()) > info.cores();
}

void CampaignState::PumpWorkers() {
  for (int w = 0; w < dispatcher_.size(); ++w) PumpProblems(w);
  if (work_.empty()) return;
  DispatchJobs();
  const StepRecord& next = ledger_.open_steps().front();
  if (!work_.front().leaders_added && next.HasAllRollouts() && next.HasAllVerdicts()) {
    AddLeaderJobs();
    DispatchJobs();
  }
}

// The step whose update is next goes first.
void CampaignState::DispatchJobs() {
  for (StepWork& work : work_) {
    std::deque<Job>& jobs = work.jobs;
    while (work.first_open < jobs.size() && jobs[work.first_open].done) ++work.first_open;
    for (size_t j = work.first_open; j < jobs.size(); ++j) {
      if (jobs[j].done || !jobs[j].running.empty()) continue;
      if (!dispatcher_.HasRoom(now_)) return;
      TryDispatch(&jobs[j]);
    }
  }
}

// What is idle after all were dispatched, nobody needs.
void CampaignState::HedgeStragglers() {
  for (Job* job : OpenJobs()) {
    if (!dispatcher_.HasRoom(now_)) return;
    TryHedge(job);
  }
}

// Probes a worker that is up and makes the next problem known to it.
void CampaignState::PumpProblems(int w) {
  WorkerState& worker = workers_[static_cast<size_t>(w)];
  if (dispatcher_.gone(w)) return;
  if (dispatcher_.draining(w)) {
    if (dispatcher_.in_flight(w) == 0) Leave(w, "drained");
    return;
  }
  if (!worker.up || worker.probe != 0 || worker.put != 0 || now_ < worker.retry_at) return;
  if (!dispatcher_.up(w)) {
    worker.probe = next_call_++;
    worker.probe_deadline = now_ + kProbeDeadline;
    Emit(action::Probe{worker.probe, w});
    return;
  }
  if (worker.known.size() == plan_->problems.size()) return;
  for (size_t p = 0; p < plan_->problems.size(); ++p) {
    const PlannedProblem& problem = plan_->problems[p];
    if (worker.known.count(problem.hash) > 0) continue;
    const v1::Calibration* calibration = CalibrationOf(w, problem.hash);
    worker.put_timed = calibration == nullptr;
    if (worker.put_timed && dispatcher_.traits(w).shares_cores && TrainerComputes()) return;
    worker.put = next_call_++;
    worker.put_problem = p;
    worker.put_since = now_;
    worker.put_deadline = now_ + PutProblemDeadline(problem.problem);
    action::PutProblem put{worker.put, w, p, calibration != nullptr, {}};
    if (calibration != nullptr) put.calibration = *calibration;
    Emit(std::move(put));
    return;
  }
}

// The one that a group is timed on, as an advantage compares within the group; empty: any yet.
std::string CampaignState::CpuModelOf(const StepWork& work, int group) const {
  const auto known = work.cpu_models.find(group);
  if (known != work.cpu_models.end()) return known->second;
  // Before this process was started, perhaps.
  const StepRecord& step = *ledger_.FindStep(work.step);
  for (const CandidateRecord& record : step.groups[static_cast<size_t>(group)].samples) {
    if (!record.verdict || !record.verdict->verdict.timed()) continue;
    for (const int w : WorkersOn(record.verdict->verdict.worker()))
      return dispatcher_.traits(w).cpu_model;
  }
  return "";
}

void CampaignState::TryDispatch(Job* job) {
  const std::string& hash = plan_->ProblemOf(job->step, job->group).hash;
  WorkNeed need;
  need.trainer_computes = TrainerComputes();
  need.prefer = job->checked_by;
  need.avoid = job->failed_worker;
  need.alone = job->harmed > 0;
  need.cpu_model = CpuModelOf(WorkOf(job->step), job->group);
  const auto knows = [&](int w) { return workers_[static_cast<size_t>(w)].known.count(hash) > 0; };
  need.timed = true;
  std::optional<int> worker = dispatcher_.Pick(need, now_, knows);
  if (worker) return StartAttempt(job, *worker, /*timed=*/true);
  if (job->checked_by >= 0 || job->leader || !need.trainer_computes) return;
  need.timed = false;
  worker = dispatcher_.Pick(need, now_, knows);
  if (worker) StartAttempt(job, *worker, /*timed=*/false);
}

// A second attempt beside a straggler, on another worker of its CPU model; the first verdict
// counts.
void CampaignState::TryHedge(Job* job) {
  if (job->running.size() != 1 || !job->running[0].timed || job->harmed > 0) return;
  const Attempt& first = job->running[0];
  if (now_ - first.since < StragglerAge(*job)) return;
  const std::string& hash = plan_->ProblemOf(job->step, job->group).hash;
  WorkNeed need;
  need.timed = true;
  need.trainer_computes = TrainerComputes();
  const std::optional<int> worker = dispatcher_.Pick(need, now_, [&](int w) {
    return w != first.worker && workers_[static_cast<size_t>(w)].known.count(hash) > 0 &&
           dispatcher_.traits(w).cpu_model == dispatcher_.traits(first.worker).cpu_model;
  });
  if (!worker) return;
  Emit(action::Notice{
      absl::StrFormat("step %d: %.0f s for the verdict of %d/%d from %s; asking %s too", job->step,
                      now_ - first.since, job->group, job->samples.front(),
                      workers_[static_cast<size_t>(first.worker)].name,
                      workers_[static_cast<size_t>(*worker)].name)});
  StartAttempt(job, *worker, /*timed=*/true);
}

Seconds CampaignState::StragglerAge(const Job& job) {
  constexpr size_t kEnough = 3;  // measurements, to say what is usual
  std::vector<Seconds> sorted = WorkOf(job.step).timed_in;
  if (sorted.size() < kEnough) {
    return MeasureDeadline(plan_->ProblemOf(job.step, job.group).problem) / 2;
  }
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return std::max(job.leader ? kLeaderStragglerMin : kStragglerMin, kStragglerFactor * *middle);
}

void CampaignState::StartAttempt(Job* job, int worker, bool timed) {
  const PlannedProblem& problem = plan_->ProblemOf(job->step, job->group);
  const Attempt attempt{next_call_++, worker, timed, now_, now_ + MeasureDeadline(problem.problem)};
  job->running.push_back(attempt);
  if (timed) WorkOf(job->step).cpu_models.emplace(job->group, dispatcher_.traits(worker).cpu_model);
  calls_[attempt.call] = job;
  dispatcher_.Started(worker, /*alone=*/job->harmed > 0);
  action::Measure measure{attempt.call, worker, {}};
  v1::MeasureRequest& request = measure.request;
  request.set_problem_hash(problem.hash);
  std::string id = plan_->CandidateId(job->step, job->group, job->samples.front());
  if (job->leader) absl::StrAppend(&id, "/fresh");
  if (job->renames > 0) absl::StrAppend(&id, "/again-", job->renames);
  request.set_candidate_id(std::move(id));
  request.set_source(job->source);
  request.set_time(timed);
  request.set_fresh(job->leader);
  request.set_seed(plan_->campaign.seed());
  Emit(std::move(measure));
}

// Of an attempt in flight.
CampaignState::Job* CampaignState::FindJob(uint64_t call) {
  const auto it = calls_.find(call);
  if (it == calls_.end()) return nullptr;
  const std::vector<Attempt>& attempts = it->second->running;
  const bool running = std::any_of(attempts.begin(), attempts.end(),
                                   [call](const Attempt& a) { return a.call == call; });
  return running ? it->second : nullptr;
}

void CampaignState::On(const event::WorkerProbed& e) {
  for (size_t w = 0; w < workers_.size(); ++w) {
    WorkerState& worker = workers_[w];
    if (worker.probe == 0 || worker.probe != e.call) continue;
    worker.probe = 0;
    if (worker.info.hostname() != e.info.hostname())
      by_hostname_.emplace(e.info.hostname(), static_cast<int>(w));
    worker.info = e.info;
    worker.heard = now_;
    worker.known.clear();
    dispatcher_.SetUp(static_cast<int>(w), {.slots = e.info.slots(),
                                            .cpu_model = e.info.cpu_model(),
                                            .host_id = e.info.host_id(),
                                            .shares_cores = worker.SharesCoresWith(trainer_.info)});
    return;
  }
}

void CampaignState::On(const event::ProblemKnown& e) {
  for (size_t w = 0; w < workers_.size(); ++w) {
    WorkerState& worker = workers_[w];
    if (worker.put == 0 || worker.put != e.call) continue;
    worker.put = 0;
    worker.put_failures = 0;
    worker.heard = now_;
    const std::string& hash = plan_->problems[worker.put_problem].hash;
    worker.known.insert(hash);
    if (CalibrationOf(static_cast<int>(w), hash) == nullptr) {
      Record(CalibrationFact{worker.info.host_id(), hash, e.calibration});
    }
    return;
  }
}

void CampaignState::On(const event::VerdictArrived& e) {
  const auto it = calls_.find(e.call);
  if (it == calls_.end()) return;
  Job& job = *it->second;
  const auto attempt = std::find_if(job.running.begin(), job.running.end(),
                                    [&](const Attempt& a) { return a.call == e.call; });
  const bool usable = e.verdict.outcome() != v1::INFRASTRUCTURE_ERROR &&
                      e.verdict.outcome() != v1::OUTCOME_UNSPECIFIED;
  if (attempt != job.running.end()) {
    WorkerState& worker = workers_[static_cast<size_t>(attempt->worker)];
    worker.heard = now_;
    ++worker.verdicts;
  }
  const bool provisional = e.verdict.outcome() == v1::CORRECT && !e.verdict.timed();
  if (attempt == job.running.end()) {
    // The answer to an attempt that was given up. A full verdict is still a verdict.
    calls_.erase(it);
    if (job.done || !usable || provisional) return;
    CancelAttempts(&job, 0);
  } else if (!usable || (provisional && attempt->timed)) {
    ++job.renames;
    AttemptFailed(&job, e.call,
                  absl::InternalError(usable ? "the worker answered without the timing asked for"
                                             : e.verdict.detail()));
    return;
  } else {
    const Attempt answered = *attempt;
    dispatcher_.Ended(answered.worker, true, now_);
    job.running.erase(attempt);
    calls_.erase(it);
    job.failures = 0;
    if (provisional) {
      job.checked_by = answered.worker;
      return;
    }
    if (answered.timed) WorkOf(job.step).timed_in.push_back(now_ - answered.since);
    CancelAttempts(&job, answered.since);
  }
  job.leader ? SettleLeader(&job, e.verdict) : Settle(&job, e.verdict);
}

// No verdict is needed any more. One came from an attempt begun at `beaten_since`: a worker that
// had longer and has none is in trouble.
void CampaignState::CancelAttempts(Job* job, Seconds beaten_since) {
  for (const Attempt& a : job->running) {
    Emit(action::CancelCall{a.call});
    calls_.erase(a.call);
    if (a.since < beaten_since) {
      dispatcher_.Ended(a.worker, false, now_);
    } else {
      dispatcher_.Cancelled(a.worker);
    }
  }
  job->running.clear();
}

// An attempt ended without a verdict. Its number stays in calls_: the verdict may still come.
void CampaignState::AttemptFailed(Job* job, uint64_t call, const absl::Status& status) {
  const auto attempt = std::find_if(job->running.begin(), job->running.end(),
                                    [call](const Attempt& a) { return a.call == call; });
  CHECK(attempt != job->running.end());
  const int worker = attempt->worker;
  WorkerState& state = workers_[static_cast<size_t>(worker)];
  if (status.code() == absl::StatusCode::kUnavailable && state.up && dispatcher_.up(worker)) {
    WorkerTrouble(worker, status);  // which ends this attempt too
    return;
  }
  const bool unknown_problem = status.code() == absl::StatusCode::kFailedPrecondition;
  dispatcher_.Ended(worker, unknown_problem, now_);
  job->running.erase(attempt);
  job->checked_by = -1;
  job->failed_worker = unknown_problem ? -1 : worker;
  ++job->failures;
  state.last_error = std::string(status.message());
  if (unknown_problem) state.known.erase(plan_->ProblemOf(job->step, job->group).hash);
  if (job->done) return;
  if (job->harmed >= kHarmedWorkersMax) {
    GiveUp(job, absl::StrCat(job->harmed, " workers were lost while they measured it, the last: ",
                             status.message()));
  } else if (job->running.empty() && job->failures >= kMeasureAttemptsMax) {
    GiveUp(job, absl::StrCat("given up after ", job->failures,
                             " attempts; the last: ", status.message()));
  }
}

void CampaignState::GiveUp(Job* job, const std::string& why) {
  CancelAttempts(job, 0);
  v1::Verdict verdict;
  verdict.set_outcome(v1::INFRASTRUCTURE_ERROR);
  verdict.set_detail(why);
  Emit(action::Notice{absl::StrCat("candidate ", job->step, "/", job->group, "/",
                                   job->samples.front(), " dropped: ", why)});
  job->leader ? SettleLeader(job, verdict) : Settle(job, verdict);
}

// The worker may be gone: whatever it was doing for us is asked for again, and it is probed. What
// it was measuring may be the cause, and is tried alone from now on.
void CampaignState::WorkerTrouble(int w, const absl::Status& status) {
  WorkerState& worker = workers_[static_cast<size_t>(w)];
  worker.last_error = std::string(status.message());
  CancelCalls(&worker);
  worker.known.clear();
  worker.retry_at = now_ + kRetryDelay;
  dispatcher_.SetDown(w);
  for (Job* job : OpenJobs()) {
    for (const Attempt& a : std::vector<Attempt>(job->running)) {
      if (a.worker != w) continue;
      Emit(action::CancelCall{a.call});
      ++job->harmed;
      AttemptFailed(job, a.call, status);
    }
  }
}

void CampaignState::Settle(Job* job, const v1::Verdict& verdict) {
  job->done = true;
  for (size_t i = 0; i < job->samples.size(); ++i) {
    v1::Verdict copy = verdict;
    if (i > 0) copy.set_cached(true);
    RecordVerdict(job->step, job->group, job->samples[i], std::move(copy));
  }
}

void CampaignState::RecordVerdict(int64_t step, int group, int sample, v1::Verdict verdict) {
  const PlannedProblem& problem = plan_->ProblemOf(step, group);
  verdict.set_candidate_id(plan_->CandidateId(step, group, sample));
  verdict.set_problem_hash(problem.hash);
  // The calibration of the host that measured, or of any other if that one is not known any more.
  const v1::Calibration* calibration = nullptr;
  for (const int w : WorkersOn(verdict.worker())) {
    if (calibration == nullptr) calibration = CalibrationOf(w, problem.hash);
  }
  for (int w = 0; w < dispatcher_.size() && calibration == nullptr; ++w) {
    calibration = CalibrationOf(w, problem.hash);
  }
  Reward reward = RewardOf(verdict, plan_->campaign.reward(),
                           calibration == nullptr ? 0 : calibration->expert().speedup(),
                           calibration == nullptr ? 0 : calibration->noise_band());
  if (!reward.dropped) {
    const GroupRecord& record = ledger_.FindStep(step)->groups[static_cast<size_t>(group)];
    reward.value -=
        OverlongPenalty(plan_->campaign.reward(),
                        record.samples[static_cast<size_t>(sample)].completion->ids_size(),
                        plan_->campaign.generate().max_new_tokens());
  }
  if (verdict.outcome() == v1::SUSPECT) {
    Emit(action::Notice{absl::StrCat("suspect: ", verdict.candidate_id(), ": ", verdict.detail())});
  }
  Record(VerdictFact{step, group, sample, std::move(verdict), reward.value, reward.dropped});
}

void CampaignState::SettleLeader(Job* job, const v1::Verdict& verdict) {
  job->done = true;
  LeaderFact fact;
  fact.step = job->step;
  fact.group = job->group;
  fact.sample = job->samples.front();
  fact.problem_id = plan_->ProblemOf(job->step, job->group).problem.id();
  fact.source = job->source;
  fact.verdict = verdict;
  const auto leader = ledger_.leaders().find(fact.problem_id);
  const double bar = leader == ledger_.leaders().end() ? 1 : leader->second.verdict.speedup();
  fact.accepted =
      verdict.outcome() == v1::CORRECT && verdict.speedup() > bar && verdict.speedup_low() > 1;
  Record(fact);
  if (fact.accepted) Emit(action::NewLeader{std::move(fact)});
}

}  // namespace whetstone
