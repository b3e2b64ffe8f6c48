#include "coordinator/campaign/dispatcher.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/status_macros.h"

namespace whetstone {

Dispatcher::Dispatcher(int workers) : workers_(static_cast<size_t>(workers)) {}

void Dispatcher::SetUp(int worker, WorkerTraits traits) {
  Worker& w = workers_[static_cast<size_t>(worker)];
  w.up = true;
  w.traits = std::move(traits);
  w.traits.slots = std::max(w.traits.slots, 1);
}

void Dispatcher::SetDown(int worker) { workers_[static_cast<size_t>(worker)].up = false; }

void Dispatcher::SetDraining(int worker) { workers_[static_cast<size_t>(worker)].draining = true; }

void Dispatcher::SetGone(int worker) {
  SetDown(worker);
  workers_[static_cast<size_t>(worker)].gone = true;
}

bool Dispatcher::resting(int worker, Seconds now) const {
  return now < workers_[static_cast<size_t>(worker)].rest_until;
}

bool Dispatcher::HasModel(int worker, const std::string& cpu_model) const {
  return traits(worker).cpu_model == cpu_model || !ModelUp(cpu_model);
}

bool Dispatcher::ModelUp(const std::string& cpu_model) const {
  return !cpu_model.empty() && std::any_of(workers_.begin(), workers_.end(), [&](const Worker& w) {
    return w.up && !w.draining && w.traits.cpu_model == cpu_model;
  });
}

bool Dispatcher::Free(int worker, Seconds now) const {
  const Worker& w = workers_[static_cast<size_t>(worker)];
  if (w.in_flight >= w.traits.slots || !w.up || w.draining || w.alone || resting(worker, now))
    return false;
  // A worker on trial after a rest gets one call at a time.
  return w.failures < kBreakerFailures || w.in_flight == 0;
}

bool Dispatcher::HasRoom(Seconds now) const {
  for (int w = 0; w < size(); ++w) {
    if (Free(w, now)) return true;
  }
  return false;
}

std::optional<int> Dispatcher::Pick(const WorkNeed& need, Seconds now,
                                    const std::function<bool(int)>& usable) const {
  const bool model_up = ModelUp(need.cpu_model);
  std::optional<int> best;
  std::tuple<bool, bool, bool, double> best_cost;
  for (int i = 0; i < size(); ++i) {
    const Worker& w = workers_[static_cast<size_t>(i)];
    if (!Free(i, now) || (need.alone && w.in_flight > 0)) continue;
    if (need.timed && need.trainer_computes && w.traits.shares_cores) continue;
    if (model_up && w.traits.cpu_model != need.cpu_model) continue;
    const std::tuple<bool, bool, bool, double> cost = {
        i == need.avoid, need.timed && w.traits.shares_cores && i != need.prefer,
        need.prefer >= 0 && i != need.prefer,
        static_cast<double>(w.in_flight) / static_cast<double>(w.traits.slots)};
    if ((best && cost >= best_cost) || (usable && !usable(i))) continue;
    best = i;
    best_cost = cost;
  }
  return best;
}

void Dispatcher::Started(int worker, bool alone) {
  Worker& w = workers_[static_cast<size_t>(worker)];
  ++w.in_flight;
  ++in_flight_;
  w.alone = alone;
}

void Dispatcher::Cancelled(int worker) {
  Worker& w = workers_[static_cast<size_t>(worker)];
  CHECK(w.in_flight > 0);
  --w.in_flight;
  --in_flight_;
  w.alone = false;
}

void Dispatcher::Ended(int worker, bool ok, Seconds now) {
  Cancelled(worker);
  Worker& w = workers_[static_cast<size_t>(worker)];
  if (ok) {
    w.failures = 0;
    w.rest = 0;
    w.rest_until = 0;
  } else if (++w.failures >= kBreakerFailures) {
    w.rest = std::clamp(2 * w.rest, kBreakerRestMin, kBreakerRestMax);
    w.rest_until = now + w.rest;
  }
}

bool Dispatcher::all_gone() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.gone; });
}

int Dispatcher::up_count() const {
  return static_cast<int>(
      std::count_if(workers_.begin(), workers_.end(), [](const Worker& w) { return w.up; }));
}

}  // namespace whetstone
