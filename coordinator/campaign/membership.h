// Membership knows which workers there are: they join, are probed, are taught the campaign's
// problems, get lost, come back, drain and leave. It is a pure state machine, one of
// CampaignState's three.
//
//   Membership members(&context, {"worker cpu01", "worker cpu02"});
//   std::optional<LostWorker> lost = members.On(event::ServiceLost{0, "connection reset"});
//   members.Schedule(/*trainer_computes=*/false);
//
// A worker is known by its index for good; the one that joins next gets the next index. It can be
// given candidates once its probe is answered (Dispatcher::up) and it knows their problem. A worker
// that may have died is lost: its calls in flight are cancelled, it knows no problem any more, and
// it is probed again after kRetryDelay, for as long as the campaign lasts. What it was measuring is
// MeasureScheduler's business: whatever loses a worker says so to the caller.
//
// A worker is gone, and not asked again, when its connection is given up, and when it is there but
// can't take a problem: it says that asking again is pointless, or fails kPutFailuresMax times in a
// row, or says nothing until PutProblemDeadline as often.
//
// It ends the campaign (CampaignContext::Finish) when a worker finds a problem unsound. Events that
// answer no call of its own are ignored. It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_MEMBERSHIP_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_MEMBERSHIP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/campaign/campaign_context.h"
#include "coordinator/campaign/campaign_events.h"
#include "coordinator/campaign/dispatcher.h"
#include "coordinator/campaign/wait.h"
#include "whetstone/v1/coordinator.pb.h"
#include "whetstone/v1/trainer.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// Whatever this worker was measuring gets no answer.
struct LostWorker {
  int worker = 0;
  absl::Status why;
};

class Membership {
 public:
  static constexpr int kPutFailuresMax = 4;

  // `context` is borrowed; `workers` are names for people, by index. They count as down until
  // ServiceReady.
  Membership(CampaignContext* context, const std::vector<std::string>& workers);

  // Service events are a worker's, not the trainer's.
  std::optional<LostWorker> On(const event::ServiceReady& e);
  std::optional<LostWorker> On(const event::ServiceLost& e);
  std::optional<LostWorker> On(const event::ServiceFailed& e);
  std::optional<LostWorker> On(const event::CallFailed& e);
  void On(const event::WorkerProbed& e);
  void On(const event::ProblemKnown& e);
  void On(const event::WorkerJoined& e);
  void On(const event::DrainWorker& e);
  // Its measurements must be withdrawn before.
  void On(const event::RemoveWorker& e);
  // The trainer said what it is: which workers share cores with it follows.
  void SetTrainer(const v1::TrainerInfo& trainer);

  // A call to the worker failed as if it had died.
  void Lose(int worker, const absl::Status& why);
  // Returns the first worker that has not answered in time, which is lost by that; it is called
  // until there is none.
  std::optional<LostWorker> LoseOverdue();
  // Lets drained workers leave; starts the next probe or PutProblem of each that is there. Nothing
  // is calibrated on cores that the trainer computes on, and nobody taught while paused.
  void Schedule(bool trainer_computes);
  // Cancels every call in flight, as the campaign ends.
  void Cancel() const;

  // The dispatcher holds each worker's load and circuit breaker.
  Dispatcher& dispatcher() { return dispatcher_; }
  const Dispatcher& dispatcher() const { return dispatcher_; }
  bool gone(int worker) const { return dispatcher_.gone(worker); }
  const std::string& name(int worker) const { return At(worker).name; }
  const std::string& last_error(int worker) const { return At(worker).last_error; }
  void set_last_error(int worker, const absl::Status& why);
  // Notes that it gave a verdict.
  void CountVerdict(int worker);
  bool Knows(int worker, const std::string& problem_hash) const;
  // Notes that it does not know the problem any more.
  void Forget(int worker, const std::string& problem_hash);
  // Returns whether any worker is being taught a problem.
  bool AnyPrepares() const;
  // Returns whether trouble keeps everybody from measuring: no worker is up and awake, and none is
  // still being connected for the first time.
  bool lost() const;
  // Returns whether one calibrates on cores of the trainer's.
  bool CalibratesOnTrainersCores() const;
  // Returns the workers whose last probe gave this host name.
  std::vector<int> WorkersOn(const std::string& hostname) const;
  // Returns what the worker's host measured of the problem; null if it never did.
  const v1::Calibration* CalibrationOf(int worker, const std::string& problem_hash) const;
  // Returns the workers by index, those that have left included; without their addresses.
  std::vector<v1::WorkerStatus> Status(Seconds now) const;
  void AddWaits(std::vector<Wait>* waits) const;

 private:
  struct Worker {
    std::string name;
    bool up = false;  // it can be called
    v1::WorkerInfo info;
    std::set<std::string> known;  // problem hashes
    // These are calls in flight; 0: none.
    uint64_t probe = 0;
    Seconds probe_deadline = 0;
    uint64_t put = 0;
    size_t put_problem = 0;
    bool put_timed = false;  // it calibrates
    Seconds put_since = 0;
    Seconds put_deadline = 0;
    // These tell of trouble.
    int put_failures = 0;  // in a row
    Seconds retry_at = 0;
    Seconds away_since = -1;  // it was lost then; negative: it has answered since
    std::string last_error;
    // These are for people.
    int64_t verdicts = 0;
    Seconds heard = -1;  // when it last answered; negative: never
  };

  Worker& At(int worker) { return workers_[static_cast<size_t>(worker)]; }
  const Worker& At(int worker) const { return workers_[static_cast<size_t>(worker)]; }
  const std::string& PutProblemId(const Worker& worker) const;
  bool SharesCores(const v1::WorkerInfo& worker) const;
  void ScheduleOne(int worker, bool trainer_computes);
  LostWorker FailPut(int worker, const absl::Status& status);
  void SetDown(int worker, const absl::Status& why);
  void CancelCalls(Worker* worker);
  void Leave(int worker, const std::string& why);

  CampaignContext* const context_;
  v1::TrainerInfo trainer_;
  Dispatcher dispatcher_;
  std::vector<Worker> workers_;
  std::multimap<std::string, int> by_hostname_;  // workers that once said so
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_MEMBERSHIP_H_
