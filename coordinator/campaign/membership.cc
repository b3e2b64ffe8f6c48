#include "coordinator/campaign/membership.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/retry_policy.h"
#include "common/status_macros.h"
#include "coordinator/campaign/deadlines.h"

namespace whetstone {

Membership::Membership(CampaignContext* context, const std::vector<std::string>& workers)
    : context_(context), dispatcher_(static_cast<int>(workers.size())), workers_(workers.size()) {
  for (size_t w = 0; w < workers.size(); ++w) workers_[w].name = workers[w];
}

std::optional<LostWorker> Membership::On(const event::ServiceReady& e) {
  if (gone(e.service)) return std::nullopt;
  const absl::Status why = absl::UnavailableError("the worker was started again");
  SetDown(e.service, why);
  Worker& worker = At(e.service);
  worker.up = true;
  worker.last_error.clear();
  worker.retry_at = 0;
  return LostWorker{e.service, why};
}

std::optional<LostWorker> Membership::On(const event::ServiceLost& e) {
  if (gone(e.service)) return std::nullopt;
  const absl::Status why = absl::UnavailableError(e.detail);
  Lose(e.service, why);
  At(e.service).up = false;
  return LostWorker{e.service, why};
}

std::optional<LostWorker> Membership::On(const event::ServiceFailed& e) {
  if (gone(e.service)) return std::nullopt;
  context_->Notice(absl::StrCat(name(e.service), " is gone: ", e.detail));
  const absl::Status why = absl::UnavailableError(e.detail);
  SetDown(e.service, why);
  At(e.service).up = false;
  dispatcher_.SetGone(e.service);
  return LostWorker{e.service, why};
}

std::optional<LostWorker> Membership::On(const event::CallFailed& e) {
  for (int w = 0; w < dispatcher_.size(); ++w) {
    Worker& worker = At(w);
    if (e.call != worker.probe && e.call != worker.put) continue;
    if (e.call == worker.put) {
      if (!absl::IsInvalidArgument(e.status)) return FailPut(w, e.status);
      context_->Finish(absl::InvalidArgumentError(
          absl::StrCat("problem ", PutProblemId(worker), " is not sound: ", e.status.message(),
                       "; try: whet problem check ", context_->plan().FileOf(worker.put_problem))));
      return std::nullopt;
    }
    Lose(w, e.status);
    return LostWorker{w, e.status};
  }
  return std::nullopt;
}

// Nobody who fails at this can measure: it is asked again only if that may help. A host that is
// short of something (RESOURCE_EXHAUSTED) may have it a little later, and one that says nothing may
// be busy for another campaign.
LostWorker Membership::FailPut(int w, const absl::Status& status) {
  Worker& worker = At(w);
  const absl::Status why(status.code(), absl::StrCat("it can't take problem ", PutProblemId(worker),
                                                     ": ", status.message()));
  if (++worker.put_failures >= kPutFailuresMax || absl::IsFailedPrecondition(status) ||
      (IsPermanent(Operation::kCall, status) && !absl::IsResourceExhausted(status))) {
    return *On(event::ServiceFailed{w, std::string(why.message())});
  }
  Lose(w, why);
  return {w, why};
}

void Membership::On(const event::WorkerProbed& e) {
  for (int w = 0; w < dispatcher_.size(); ++w) {
    Worker& worker = At(w);
    if (worker.probe == 0 || worker.probe != e.call) continue;
    worker.probe = 0;
    if (worker.info.hostname() != e.info.hostname()) by_hostname_.emplace(e.info.hostname(), w);
    worker.info = e.info;
    worker.heard = context_->now();
    worker.away_since = -1;
    worker.known.clear();
    dispatcher_.SetUp(w, {.slots = e.info.slots(),
                          .cpu_model = e.info.cpu_model(),
                          .host_id = e.info.host_id(),
                          .shares_cores = SharesCores(worker.info)});
    return;
  }
}

void Membership::On(const event::ProblemKnown& e) {
  for (int w = 0; w < dispatcher_.size(); ++w) {
    Worker& worker = At(w);
    if (worker.put == 0 || worker.put != e.call) continue;
    worker.put = 0;
    worker.heard = context_->now();
    const std::string& hash = context_->plan().problems[worker.put_problem].hash;
    worker.known.insert(hash);
    // One that fails at the second problem is taught the first again each time.
    if (worker.known.size() == context_->plan().problems.size()) worker.put_failures = 0;
    if (CalibrationOf(w, hash) == nullptr) {
      context_->Record(CalibrationEntry{worker.info.host_id(), hash, e.calibration});
    }
    return;
  }
}

void Membership::On(const event::WorkerJoined& e) {
  CHECK(e.worker == dispatcher_.size());
  dispatcher_.Add();
  workers_.emplace_back().name = e.name;
  context_->Notice(absl::StrCat(e.name, " joins"));
}

void Membership::On(const event::DrainWorker& e) {
  if (gone(e.worker) || dispatcher_.draining(e.worker)) return;
  Worker& worker = At(e.worker);
  dispatcher_.SetDraining(e.worker);
  CancelCalls(&worker);  // they would prepare it for work that it won't get
  context_->Notice(absl::StrFormat("%s gets no new work; %d measurement(s) to end", worker.name,
                                   dispatcher_.in_flight(e.worker)));
}

void Membership::On(const event::RemoveWorker& e) {
  if (!gone(e.worker)) Leave(e.worker, "removed");
}

void Membership::SetTrainer(const v1::TrainerInfo& trainer) {
  trainer_ = trainer;
  for (int w = 0; w < dispatcher_.size(); ++w) {
    if (!dispatcher_.up(w)) continue;
    WorkerTraits traits = dispatcher_.traits(w);
    traits.shares_cores = SharesCores(At(w).info);
    dispatcher_.SetUp(w, std::move(traits));
  }
}

// Returns whether timing there would run on cores the trainer computes on.
bool Membership::SharesCores(const v1::WorkerInfo& worker) const {
  // Nothing is known of the trainer yet: be careful.
  if (trainer_.host_id().empty()) return true;
  if (trainer_.host_id() != worker.host_id()) return false;
  // A GPU's policy still needs a core or two to drive it.
  const int trainer_cores =
      trainer_.device().rfind("cuda", 0) == 0 ? 2 : std::max(trainer_.threads(), 1);
  return trainer_cores + std::max(worker.slot_cores_size(), 2 * worker.slots()) > worker.cores();
}

void Membership::Lose(int w, const absl::Status& why) {
  Worker& worker = At(w);
  if (worker.away_since < 0) {
    worker.away_since = context_->now();
    context_->Notice(absl::StrCat("lost ", worker.name, ": ", why.message()));
  }
  SetDown(w, why);
}

void Membership::SetDown(int w, const absl::Status& why) {
  Worker& worker = At(w);
  set_last_error(w, why);
  CancelCalls(&worker);
  worker.known.clear();
  worker.retry_at = context_->now() + kRetryDelay;
  dispatcher_.SetDown(w);
}

std::optional<LostWorker> Membership::LoseOverdue() {
  for (int w = 0; w < dispatcher_.size(); ++w) {
    const Worker& worker = At(w);
    if (worker.put != 0 && context_->now() >= worker.put_deadline) {
      return FailPut(w, absl::DeadlineExceededError(absl::StrFormat(
                            "no answer in %.0f s", context_->now() - worker.put_since)));
    }
    if (worker.probe == 0 || context_->now() < worker.probe_deadline) continue;
    const absl::Status why =
        absl::DeadlineExceededError("it did not answer Worker.GetInfo in time");
    Lose(w, why);
    return LostWorker{w, why};
  }
  return std::nullopt;
}

void Membership::Schedule(bool trainer_computes) {
  for (int w = 0; w < dispatcher_.size(); ++w) ScheduleOne(w, trainer_computes);
}

void Membership::ScheduleOne(int w, bool trainer_computes) {
  Worker& worker = At(w);
  const Seconds now = context_->now();
  if (gone(w)) return;
  if (dispatcher_.draining(w)) {
    if (dispatcher_.in_flight(w) == 0) Leave(w, "drained");
    return;
  }
  if (!worker.up || worker.probe != 0 || worker.put != 0 || now < worker.retry_at) return;
  if (!dispatcher_.up(w)) {
    worker.probe = context_->NewCall();
    worker.probe_deadline = now + kProbeDeadline;
    context_->Emit(action::Probe{worker.probe, w});
    return;
  }
  const std::vector<PlannedProblem>& problems = context_->plan().problems;
  if (context_->paused() || worker.known.size() == problems.size()) return;
  for (size_t p = 0; p < problems.size(); ++p) {
    if (worker.known.count(problems[p].hash) > 0) continue;
    const v1::Calibration* calibration = CalibrationOf(w, problems[p].hash);
    worker.put_timed = calibration == nullptr;
    if (worker.put_timed && dispatcher_.traits(w).shares_cores && trainer_computes) return;
    worker.put = context_->NewCall();
    worker.put_problem = p;
    worker.put_since = now;
    worker.put_deadline = now + PutProblemDeadline(context_->plan().campaign, problems[p].problem);
    action::PutProblem put{worker.put, w, p, calibration != nullptr, {}};
    if (calibration != nullptr) put.calibration = *calibration;
    context_->Emit(std::move(put));
    return;
  }
}

// Cancels the calls that prepare the worker; its measurements are their jobs' to cancel.
void Membership::CancelCalls(Worker* worker) {
  for (uint64_t* call : {&worker->probe, &worker->put}) {
    if (*call != 0) context_->Emit(action::CancelCall{*call});
    *call = 0;
  }
}

void Membership::Cancel() const {
  for (const Worker& worker : workers_) {
    for (const uint64_t call : {worker.put, worker.probe}) {
      if (call != 0) context_->Emit(action::CancelCall{call});
    }
  }
}

// The worker's number stays, for verdicts and calibrations that name it.
void Membership::Leave(int w, const std::string& why) {
  Worker& worker = At(w);
  CancelCalls(&worker);
  worker.up = false;
  worker.known.clear();
  worker.last_error = why;
  dispatcher_.SetGone(w);
  context_->Notice(absl::StrCat(worker.name, " has left: ", why));
  context_->Emit(action::WorkerLeft{w});
}

void Membership::set_last_error(int worker, const absl::Status& why) {
  At(worker).last_error = std::string(why.message());
}

void Membership::CountVerdict(int worker) {
  At(worker).heard = context_->now();
  ++At(worker).verdicts;
}

bool Membership::Knows(int worker, const std::string& problem_hash) const {
  return At(worker).known.count(problem_hash) > 0;
}

void Membership::Forget(int worker, const std::string& problem_hash) {
  At(worker).known.erase(problem_hash);
}

bool Membership::AnyPrepares() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.put != 0; });
}

bool Membership::lost() const {
  bool connecting = false;
  for (int w = 0; w < dispatcher_.size(); ++w) {
    if (gone(w) || dispatcher_.draining(w)) continue;
    if (dispatcher_.up(w) && !dispatcher_.resting(w, context_->now())) return false;
    connecting |= !dispatcher_.up(w) && At(w).last_error.empty();
  }
  return !connecting;
}

bool Membership::CalibratesOnTrainersCores() const {
  for (int w = 0; w < dispatcher_.size(); ++w) {
    const Worker& worker = At(w);
    if (worker.put != 0 && worker.put_timed && dispatcher_.traits(w).shares_cores) return true;
  }
  return false;
}

std::vector<int> Membership::WorkersOn(const std::string& hostname) const {
  std::vector<int> found;
  const auto [begin, end] = by_hostname_.equal_range(hostname);
  for (auto it = begin; it != end; ++it) {
    if (At(it->second).info.hostname() == hostname) found.push_back(it->second);
  }
  return found;
}

const v1::Calibration* Membership::CalibrationOf(int worker,
                                                 const std::string& problem_hash) const {
  return context_->durable().FindCalibration(dispatcher_.traits(worker).host_id, problem_hash);
}

const std::string& Membership::PutProblemId(const Worker& worker) const {
  return context_->plan().problems[worker.put_problem].problem.id();
}

std::vector<v1::WorkerStatus> Membership::Status(Seconds now) const {
  std::vector<v1::WorkerStatus> all;
  for (int w = 0; w < dispatcher_.size(); ++w) {
    const Worker& worker = At(w);
    v1::WorkerStatus& status = all.emplace_back();
    status.set_name(worker.name);
    status.set_hostname(worker.info.hostname());
    status.set_cpu_model(worker.info.cpu_model());
    status.set_isolation(worker.info.isolation());
    status.set_slots(worker.info.slots());
    status.set_in_flight(dispatcher_.in_flight(w));
    status.set_verdicts(worker.verdicts);
    status.set_last_heard_s(worker.heard < 0 ? -1 : std::max(now - worker.heard, 0.0));
    if (dispatcher_.gone(w)) {
      status.set_state(v1::WorkerStatus::GONE);
      status.set_why(worker.last_error);
    } else if (dispatcher_.draining(w)) {
      status.set_state(v1::WorkerStatus::DRAINING);
    } else if (dispatcher_.up(w) && dispatcher_.resting(w, now)) {
      status.set_state(v1::WorkerStatus::RESTING);
      status.set_why(absl::StrFormat("failed several times in a row, is tried again in %.0f s: %s",
                                     std::ceil(dispatcher_.rest_until(w) - now),
                                     worker.last_error));
    } else if (dispatcher_.up(w)) {
      status.set_state(v1::WorkerStatus::UP);
      if (worker.put != 0) status.set_why(absl::StrCat("prepares ", PutProblemId(worker)));
    } else if (worker.last_error.empty()) {
      status.set_state(v1::WorkerStatus::CONNECTING);
    } else {
      status.set_state(v1::WorkerStatus::DOWN);
      status.set_why(worker.last_error);
    }
  }
  return all;
}

void Membership::AddWaits(std::vector<Wait>* waits) const {
  for (int w = 0; w < dispatcher_.size(); ++w) {
    const Worker& worker = At(w);
    if (gone(w) || dispatcher_.draining(w)) continue;
    if (worker.away_since >= 0) {
      // It is probed, or will be soon; its connection is tried for as long as the campaign lasts.
      const Seconds probed = worker.probe != 0 ? worker.probe_deadline
                             : worker.up       ? worker.retry_at + kProbeDeadline
                                               : context_->now() + kRetryDelay;
      waits->push_back({absl::StrCat(worker.name, " to come back"), worker.away_since, probed});
    } else if (worker.probe != 0) {
      waits->push_back({absl::StrCat(worker.name, " to say what it is"),
                        worker.probe_deadline - kProbeDeadline, worker.probe_deadline});
    } else if (dispatcher_.resting(w, context_->now())) {
      waits->push_back({absl::StrCat(worker.name, ", which rests after failures"),
                        dispatcher_.rests_since(w), dispatcher_.rest_until(w)});
    }
    if (worker.put != 0) {
      waits->push_back(
          {absl::StrCat(worker.name, worker.put_timed ? " to calibrate" : " to prepare",
                        " problem ", PutProblemId(worker)),
           worker.put_since, worker.put_deadline, /*computes=*/true});
    }
  }
}

}  // namespace whetstone
