// Services of the world that join and leave, are lost or away, start late or say nothing.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "coordinator/campaign/campaign_fakes.h"

namespace whetstone {
namespace {

// Longer than a campaign's patience, at times.
constexpr Seconds kAwayMax = 300;

}  // namespace

bool World::Absence(double probability) {
  if (absences_left_ == 0 || Draw() >= probability) return false;
  --absences_left_;
  return true;
}

bool World::HearsTrainer(uint64_t call) {
  if (now_ < trainer_back_) {
    After(0.1, event::CallFailed{call, absl::UnavailableError("connection refused")});
    return false;
  }
  if (!Absence(0.02)) return true;
  ++silent_;
  silenced_.insert(call);
  return Draw() < 0.5;  // what is lost is the answer, or the request
}

bool World::HearsWorker(uint64_t call, int w) {
  if (now_ < WorkerAt(w).back) {
    After(0.1, event::CallFailed{call, absl::UnavailableError("connection refused")});
    return false;
  }
  asked_[call] = static_cast<size_t>(w);
  if (!Absence(0.01)) return true;
  ++silent_;
  silenced_.insert(call);
  return Draw() < 0.5;
}

void World::Interrupt(const std::set<uint64_t>& calls) {
  for (const uint64_t call : calls) {
    silenced_.insert(call);
    if (Draw() < 0.7) {
      After(0.1, event::CallFailed{call, absl::UnavailableError("connection reset")});
    }
  }
}

void World::SendTrainerAway() {
  ++away_;
  if (options_.trainer == nullptr && Draw() < 0.7) EndTrainer();
  trainer_back_ = now_ + kAwayMax * Draw();
  if (Draw() < 0.5) return Interrupt(computing_);  // the tunnel stays up
  After(0, event::ServiceLost{kTrainer, "sent away by the simulation"});
  After(trainer_back_ - now_, event::ServiceReady{kTrainer});
}

void World::SendWorkerAway(int w) {
  ++away_;
  Worker& worker = WorkerAt(w);
  if (Draw() < 0.7) worker.known.clear();
  worker.back = now_ + kAwayMax * Draw();
  if (Draw() < 0.5) {
    std::set<uint64_t> calls;
    for (const auto& [call, asked] : asked_) {
      if (asked == static_cast<size_t>(w)) calls.insert(call);
    }
    return Interrupt(calls);
  }
  After(0, event::ServiceLost{w, "sent away by the simulation"});
  After(worker.back - now_, event::ServiceReady{w});
}

Seconds World::HeardAt(Seconds back) {
  // Behind a tunnel that is up it only refuses.
  const Seconds away = now_ < back && Draw() < 0.5 ? back - now_ : 0;
  return away + 0.1 * Draw();
}

bool World::Gone(size_t w) const {
  return state_->Workers(now_)[w].state() == v1::WorkerStatus::GONE;
}

void World::LoseTrainer() {
  ++losses_;
  // The process is lost, or only the connection.
  if (options_.trainer == nullptr && Draw() < 0.7) EndTrainer();
  After(0, event::ServiceLost{kTrainer, "killed by the simulation"});
  After(5 * Draw() + 0.01, event::ServiceReady{kTrainer});
}

void World::LoseWorker(int w) {
  WorkerAt(w).known.clear();
  After(0, event::ServiceLost{w, "killed by the simulation"});
  After(20 * Draw() + 0.01, event::ServiceReady{w});
}

// An operator at `whet workers` never leaves the campaign without any worker for long.
void World::MoveWorkers() {
  if (options_.moves == 0) return;
  if (worker_list_.empty() && Draw() < 0.05) return Join();
  if (moves_left_ == 0 || Draw() >= 0.05) return;
  --moves_left_;
  std::vector<int> staying;
  for (int w = 0; w < static_cast<int>(members_.size()); ++w) {
    if (!members_[static_cast<size_t>(w)].sent_away) staying.push_back(w);
  }
  if (staying.empty() || Draw() < 0.5) return Join();
  SendAway(staying[random_() % staying.size()]);
}

void World::Join() {
  ++joined_;
  const int index = static_cast<int>(members_.size());
  members_.push_back({workers_.size(), false, {}, false});
  worker_list_.push_back(workers_.size());
  workers_.emplace_back();
  // This happens together with whatever else is due now.
  After(0, event::WorkerJoined{index, absl::StrCat("worker w", worker_list_.back())});
  After(Draw(), event::ServiceReady{index});
}

void World::SendAway(int w) {
  Member& member = members_[static_cast<size_t>(w)];
  worker_list_.erase(std::find(worker_list_.begin(), worker_list_.end(), member.worker));
  member.sent_away = true;
  if (Gone(static_cast<size_t>(w))) return;  // nobody need tell the core
  if (Draw() < 0.6) {
    After(0, event::DrainWorker{w});
    if (Draw() < 0.2) After(Draw(), event::RemoveWorker{w});  // the drain is too slow for somebody
  } else {
    After(0, event::RemoveWorker{w});
  }
}

void World::Do(const action::WorkerLeft& a) {
  Member& member = members_[static_cast<size_t>(a.worker)];
  if (member.left) Break("it left twice");
  member.left = true;
  ++left_;
}

}  // namespace whetstone
