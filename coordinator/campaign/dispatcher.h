// The Dispatcher says which worker measures what: the least loaded one that may, with a circuit
// breaker per worker.
//
//   Dispatcher dispatcher(workers);
//   dispatcher.SetUp(0, {.slots = 2, .cpu_model = "EPYC"});
//   if (std::optional<int> w = dispatcher.Pick({.timed = true}, now)) dispatcher.Started(*w);
//   …
//   dispatcher.Ended(*w, /*ok=*/true, now);
//
// After kBreakerFailures failures in a row a worker rests, twice as long each time; then one call
// tries it out. It is pure: time comes in as an argument. It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_DISPATCHER_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_DISPATCHER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/durable/seconds.h"

namespace whetstone {

struct WorkerTraits {
  int slots = 1;
  std::string cpu_model;
  std::string host_id;
  // The trainer computes on the same cores: no timing beside it.
  bool shares_cores = false;
};

struct WorkNeed {
  bool timed = false;
  // Workers that share cores with the trainer may not time now.
  bool trainer_computes = false;
  // Only hosts of this model are taken ("": any). It is ignored while no worker of that model is up
  // and takes work.
  std::string cpu_model;
  // This worker is preferred if it has room (it holds the candidate's binary); -1: none.
  int prefer = -1;
  // This worker is taken only if no other will do; -1: none.
  int avoid = -1;
  // Only a worker that does nothing else is taken: whatever goes wrong there is this candidate's
  // doing.
  bool alone = false;
};

class Dispatcher {
 public:
  static constexpr int kBreakerFailures = 3;
  static constexpr Seconds kBreakerRestMin = 2;
  static constexpr Seconds kBreakerRestMax = 120;

  explicit Dispatcher(int workers);
  void SetUp(int worker, WorkerTraits traits);
  void SetDown(int worker);
  // The worker gets no more work.
  void SetDraining(int worker);
  // The worker never comes back.
  void SetGone(int worker);
  // Adds a worker, down until SetUp; its index is size() before.
  void Add() { workers_.emplace_back(); }

  // `usable` (may be empty) filters further, say to workers that know the problem.
  std::optional<int> Pick(const WorkNeed& need, Seconds now,
                          const std::function<bool(int)>& usable) const;
  // With `alone`, nothing else is picked for that worker until it ends.
  void Started(int worker, bool alone = false);
  void Ended(int worker, bool ok, Seconds now);
  // The measurement ends for reasons that are not the worker's.
  void Cancelled(int worker);

  bool up(int worker) const { return workers_[static_cast<size_t>(worker)].up; }
  bool draining(int worker) const { return workers_[static_cast<size_t>(worker)].draining; }
  bool gone(int worker) const { return workers_[static_cast<size_t>(worker)].gone; }
  Seconds rest_until(int worker) const { return workers_[static_cast<size_t>(worker)].rest_until; }
  Seconds rests_since(int worker) const {
    return rest_until(worker) - workers_[static_cast<size_t>(worker)].rest;
  }
  bool resting(int worker, Seconds now) const;
  // Returns whether it is of that model; any is, while no worker of the model is up and takes work.
  bool HasModel(int worker, const std::string& cpu_model) const;
  // Returns the number of measurements of all workers.
  int in_flight() const { return in_flight_; }
  // Returns whether any worker could take more now.
  bool HasRoom(Seconds now) const;
  int in_flight(int worker) const { return workers_[static_cast<size_t>(worker)].in_flight; }
  const WorkerTraits& traits(int worker) const {
    return workers_[static_cast<size_t>(worker)].traits;
  }
  int size() const { return static_cast<int>(workers_.size()); }
  bool all_gone() const;
  int up_count() const;

 private:
  struct Worker {
    bool up = false;
    bool draining = false;
    bool gone = false;
    WorkerTraits traits;
    int in_flight = 0;
    bool alone = false;
    int failures = 0;
    Seconds rest_until = 0;
    Seconds rest = 0;
  };
  bool ModelUp(const std::string& cpu_model) const;

  bool Free(int worker, Seconds now) const;

  std::vector<Worker> workers_;
  int in_flight_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_DISPATCHER_H_
