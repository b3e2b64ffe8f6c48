#include "cpu_bench_worker/service/waiting_callers.h"

#include <algorithm>
#include <utility>

namespace whetstone {

WaitingCallers::WaitingCallers(std::function<void(const std::vector<std::string>&)> cancel,
                               std::chrono::milliseconds grace)
    : cancel_(std::move(cancel)), grace_(grace), thread_([this] { Loop(); }) {}

WaitingCallers::~WaitingCallers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    stopped_.notify_all();
  }
  thread_.join();
}

void WaitingCallers::Loop() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, grace_ / 10, [this] { return stopping_; })) {
    const std::vector<std::string> abandoned = Abandoned();
    if (abandoned.empty()) continue;
    lock.unlock();
    cancel_(abandoned);
    lock.lock();
  }
}

std::vector<std::string> WaitingCallers::Abandoned() {
  const Clock::time_point now = Clock::now();
  std::vector<std::string> abandoned;
  for (auto& [id, candidate] : candidates_) {
    const bool wanted = std::any_of(candidate.callers.begin(), candidate.callers.end(),
                                    [](const Caller* caller) { return !caller->hung_up_(); });
    if (!wanted && now - candidate.last_wanted >= grace_) abandoned.push_back(id);
    if (wanted || now - candidate.last_wanted >= grace_) candidate.last_wanted = now;
  }
  return abandoned;
}

WaitingCallers::Caller::Caller(WaitingCallers* callers, std::string id,
                               std::function<bool()> hung_up)
    : callers_(callers), id_(std::move(id)), hung_up_(std::move(hung_up)) {
  const std::lock_guard lock(callers_->mutex_);
  Candidate& candidate = callers_->candidates_[id_];
  candidate.callers.insert(this);
  candidate.last_wanted = Clock::now();
}

WaitingCallers::Caller::~Caller() {
  const std::lock_guard lock(callers_->mutex_);
  const auto candidate = callers_->candidates_.find(id_);
  candidate->second.callers.erase(this);
  if (candidate->second.callers.empty()) callers_->candidates_.erase(candidate);
}

}  // namespace whetstone
