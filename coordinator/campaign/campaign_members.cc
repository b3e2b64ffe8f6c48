// Workers that come and go while the campaign runs: CampaignState's members.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/campaign/campaign_state.h"

namespace whetstone {

void CampaignState::On(const event::WorkerJoined& e) {
  CHECK(e.worker == dispatcher_.size());
  dispatcher_.Add();
  workers_.emplace_back().name = e.name;
  Emit(action::Notice{absl::StrCat(e.name, " joins")});
}

void CampaignState::On(const event::DrainWorker& e) {
  if (dispatcher_.gone(e.worker) || dispatcher_.draining(e.worker)) return;
  WorkerState& worker = workers_[static_cast<size_t>(e.worker)];
  dispatcher_.SetDraining(e.worker);
  CancelCalls(&worker);  // they would prepare it for work that it won't get
  Emit(action::Notice{absl::StrFormat("%s gets no new work; %d measurement(s) to end", worker.name,
                                      dispatcher_.in_flight(e.worker))});
}

// Neither the candidates' fault nor the worker's: nothing is counted against them. A verdict that
// was on its way counts no more: perhaps it is removed because it measures badly.
void CampaignState::On(const event::RemoveWorker& e) {
  if (dispatcher_.gone(e.worker)) return;
  for (Job* job : OpenJobs()) {
    for (const Attempt& a : std::exchange(job->running, {})) {
      if (a.worker != e.worker) {
        job->running.push_back(a);
        continue;
      }
      Emit(action::CancelCall{a.call});
      calls_.erase(a.call);
      dispatcher_.Cancelled(e.worker);
    }
  }
  Leave(e.worker, "removed");
}

// Its number stays, for verdicts and calibrations that name it.
void CampaignState::Leave(int w, const std::string& why) {
  WorkerState& worker = workers_[static_cast<size_t>(w)];
  CancelCalls(&worker);
  worker.up = false;
  worker.known.clear();
  worker.last_error = why;
  dispatcher_.SetGone(w);
  Emit(action::Notice{absl::StrCat(worker.name, " has left: ", why)});
  Emit(action::WorkerLeft{w});
}

// Those that prepare it: measurements are its jobs' to cancel.
void CampaignState::CancelCalls(WorkerState* worker) {
  for (uint64_t* call : {&worker->probe, &worker->put}) {
    if (*call != 0) Emit(action::CancelCall{*call});
    *call = 0;
  }
}

std::vector<v1::WorkerStatus> CampaignState::Workers(Seconds now) const {
  std::vector<v1::WorkerStatus> all;
  for (int w = 0; w < dispatcher_.size(); ++w) {
    const WorkerState& worker = workers_[static_cast<size_t>(w)];
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
      if (worker.put != 0) {
        status.set_why(absl::StrCat("prepares ", plan_->problems[worker.put_problem].problem.id()));
      }
    } else if (worker.last_error.empty()) {
      status.set_state(v1::WorkerStatus::CONNECTING);
    } else {
      status.set_state(v1::WorkerStatus::DOWN);
      status.set_why(worker.last_error);
    }
  }
  return all;
}

}  // namespace whetstone
