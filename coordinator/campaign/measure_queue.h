// The MeasureQueue holds the programs to be measured: the jobs of the open steps, their attempts in
// flight, and which call is whose. It knows no worker and no verdict; MeasureScheduler decides.
//
//   MeasureQueue queue;
//   queue.Open(12).AddRollout(/*group=*/0, /*sample=*/3, source);
//   for (MeasureJob* job : queue.OpenJobs()) queue.Started(job, attempt);
//   MeasureJob* job = queue.Find(call);
//
// Nothing here survives a crash: what is not measured yet follows from the journal. It is not
// thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_MEASURE_QUEUE_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_MEASURE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/durable/seconds.h"

namespace whetstone {

// A MeasureAttempt is a measurement in flight.
struct MeasureAttempt {
  uint64_t call = 0;
  int worker = 0;
  bool timed = false;
  Seconds since = 0;
  Seconds deadline = 0;
};

// A MeasureJob is one program to measure, for every rollout of a group that wrote it.
struct MeasureJob {
  // Returns "12/0/3": which rollout it is, of several the first.
  std::string Place() const;
  // Returns whether nobody measures it, and somebody should.
  bool Waits() const { return !done && lost.empty() && running.empty(); }

  int64_t step = 0;
  bool challenger = false;  // measured again because it may be the problem's best
  int group_index = 0;
  std::vector<int> samples;
  std::string source;
  // While `running` is empty the job waits, or is done; of two the first is a straggler.
  std::vector<MeasureAttempt> running;
  int checked_by = -1;  // the worker where it passed without timing, which holds its binary
  int failed_worker = -1;
  int failures = 0;       // attempts in a row that ended without a verdict
  int worker_losses = 0;  // of these, how many lost their worker
  int retry_suffix = 0;   // of its candidate id: a new one after each INFRASTRUCTURE_ERROR verdict
  // By worker, when the first of its attempts in a row without a usable answer failed there; -1: it
  // was not measured, as the worker did not know the problem.
  std::map<int, Seconds> failed_since;
  std::string lost;  // why it was given up, for now; empty: it was not (lost_candidates.h)
  bool done = false;
};

// StepMeasuring is an open step's measuring, as far as the durable state does not know it.
struct StepMeasuring {
  explicit StepMeasuring(int64_t step) : step(step) {}
  // Adds a new job, or one sample more of an open job of the same text and group.
  void AddRollout(int group_index, int sample, const std::string& source);
  bool AllDone() const;
  // Returns how long a full verdict usually took; nothing before there are enough to say.
  std::optional<Seconds> UsualDuration() const;

  int64_t step;
  std::deque<MeasureJob> jobs;                       // where they are, they stay
  std::map<int, std::vector<MeasureJob*>> by_group;  // without challengers'
  size_t first_open = 0;                             // the jobs before this one are done
  std::vector<Seconds> timed_in;                     // how long each full verdict took
  bool challengers_added = false;
  std::map<int, std::string> cpu_models;  // that the first of each group's candidates went to
  size_t lost = 0;  // rollouts whose verdict says so, but not for what their programs do
};

class MeasureQueue {
 public:
  // Steps are opened in order, but an evaluation before those that are there, and closed from the
  // front.
  void Open(int64_t step);
  bool IsOpen(int64_t step) const;
  void CloseFront();
  std::deque<StepMeasuring>& steps() { return steps_; }
  const std::deque<StepMeasuring>& steps() const { return steps_; }
  // Returns the measuring of an open step.
  StepMeasuring& StepOf(int64_t step);
  // Returns the jobs that are not done, older steps' first. They are valid until their step is
  // closed.
  std::vector<MeasureJob*> OpenJobs();

  // `attempt` of the job is in flight. Its number is known until Forget, also when it has ended: an
  // answer may still come.
  void Started(MeasureJob* job, const MeasureAttempt& attempt);
  void Forget(uint64_t call) { calls_.erase(call); }
  // Returns the job of a call; null if the call is of none of an open step, or forgotten.
  MeasureJob* Find(uint64_t call) const;
  // Returns whether an attempt in flight is one of these.
  bool AnyRunning(const std::function<bool(const MeasureAttempt&)>& of_these) const;

 private:
  std::deque<StepMeasuring> steps_;
  std::map<uint64_t, MeasureJob*> calls_;
};

// Returns the attempt in flight; the end if the call is of none.
std::vector<MeasureAttempt>::iterator FindAttempt(MeasureJob* job, uint64_t call);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_MEASURE_QUEUE_H_
