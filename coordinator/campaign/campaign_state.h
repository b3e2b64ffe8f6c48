// The campaign itself, as a pure function: events and the time go in, actions come out. No I/O,
// no clock, no threads, so a hundred steps run in milliseconds under test and a whole cluster can
// be simulated from a seed.
//
//   CampaignState state(&plan, {"worker cpu01", "worker cpu02"});
//   state.Restore(ledger_of_the_journal);                        // resume; nothing for a new run
//   for (const Action& a : state.Handle(events, now)) Perform(a);
//
// Two things go on side by side, and each event is followed by one look at both (`Pump`):
//
// * the trainer does one thing at a time: load the policy and catch up with the journal, generate,
//   update, save. What it could do first is what makes the policy newer: it generates a step ahead
//   of its time (train.max_staleness) only while an update waits for verdicts;
// * every rollout with code becomes a job (rollouts of one text and problem share it) that goes to
//   the workers: check and time at once, or, where the worker shares cores with the trainer, check
//   while the trainer computes and time once it is quiet.
//
// What must survive is recorded as a fact (ledger.h) before anything is built on it; everything
// else here can be lost at any moment. Whatever is waited for has a name and a deadline (Waits). A
// service that is lost is waited for, probed, given back what it forgot, and asked again for what
// is still missing.
//
// Not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_STATE_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_STATE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/campaign/campaign_events.h"
#include "coordinator/campaign/campaign_plan.h"
#include "coordinator/campaign/dispatcher.h"
#include "coordinator/campaign/ledger.h"
#include "coordinator/campaign/step_row.h"
#include "whetstone/v1/coordinator.pb.h"

namespace whetstone {

// Something the campaign can't go on without.
struct Wait {
  std::string name;  // "Trainer.Update step 12", "verdict of 12/0/3 from worker cpu02"
  Seconds since = 0;
  Seconds deadline = 0;
};

class CampaignState {
 public:
  // How often a candidate is tried before it is given up as INFRASTRUCTURE_ERROR.
  static constexpr int kMeasureAttemptsMax = 4;
  // How many workers may be lost while they measure it.
  static constexpr int kHarmedWorkersMax = 2;
  // Failures of the trainer in a row before the campaign ends.
  static constexpr int kTrainerFailuresMax = 6;

  // `plan` is borrowed; `workers` are names for people, by index. Services count as down until
  // ServiceReady.
  CampaignState(const CampaignPlan* plan, const std::vector<std::string>& workers);

  // What the journal holds, before the first Handle.
  void Restore(Ledger ledger) { ledger_ = std::move(ledger); }

  // `now` never goes backwards.
  std::vector<Action> Handle(const std::vector<Event>& events, Seconds now);

  bool finished() const { return finished_; }
  const Ledger& ledger() const { return ledger_; }
  // While not finished: at least one.
  std::vector<Wait> Waits() const;
  // What is going on, in one line.
  std::string StatusLine(Seconds now) const;
  // By index, those that have left included; without their places.
  std::vector<v1::WorkerStatus> Workers(Seconds now) const;

 private:
  enum class TrainerOp { kNone, kProbe, kLoad, kGenerate, kUpdate, kReplay, kSave, kRemove };
  struct Trainer {
    bool up = false;
    bool probed = false;  // `info` is of the process that is there now
    v1::TrainerInfo info;
    // Updates in the policy it holds; unknown: load one.
    std::optional<int64_t> position;
    int64_t step = 0;   // whose rollouts it generates …
    size_t groups = 0;  // … those of its first groups
    TrainerOp op = TrainerOp::kNone;
    uint64_t call = 0;
    std::string op_name;
    Seconds since = 0;
    Seconds deadline = 0;
    Seconds down_since = 0;
    Seconds retry_at = 0;  // probe again not before this
    int failures = 0;
    std::string last_error;
    size_t load_choice = 0;             // 0: the newest checkpoint …
    int64_t target = 0;                 // position after the running load, update or replay
    std::vector<std::string> obsolete;  // checkpoints to remove
    v1::UpdateRequest update;           // the running one
    v1::GenerateProgress progress;
  };
  struct WorkerState {
    std::string name;
    bool up = false;
    uint64_t probe = 0;
    Seconds probe_deadline = 0;
    Seconds retry_at = 0;
    v1::WorkerInfo info;
    // Whether timing here would run on cores the trainer computes on.
    bool SharesCoresWith(const v1::TrainerInfo& trainer) const;
    std::set<std::string> known;  // problem hashes
    uint64_t put = 0;             // the PutProblem in flight
    size_t put_problem = 0;
    bool put_timed = false;
    Seconds put_since = 0;
    Seconds put_deadline = 0;
    int put_failures = 0;
    std::string last_error;
    int64_t verdicts = 0;
    Seconds heard = -1;  // when it last answered; negative: never
  };
  // A measurement in flight.
  struct Attempt {
    uint64_t call = 0;
    int worker = 0;
    bool timed = false;
    Seconds since = 0;
    Seconds deadline = 0;
  };
  // One program to measure, for every rollout that wrote it.
  struct Job {
    int64_t step = 0;
    bool leader = false;  // measured again because it may be the problem's best
    int group = 0;
    std::vector<int> samples;
    std::string source;
    std::vector<Attempt> running;  // empty: waiting, or done; two: the first is a straggler
    int checked_by = -1;  // the worker where it passed without timing, which holds its binary
    int failed_worker = -1;
    int failures = 0;  // attempts in a row that ended without a verdict
    int harmed = 0;    // of these, how many lost their worker
    int renames = 0;   // a new id after each INFRASTRUCTURE_ERROR verdict
    bool done = false;
  };
  // An open step's measuring, which the ledger does not know.
  struct StepWork {
    explicit StepWork(int64_t step) : step(step) {}
    int64_t step;
    std::deque<Job> jobs;                       // where they are, they stay
    std::map<int, std::vector<Job*>> by_group;  // but for leaders'
    size_t first_open = 0;                      // the jobs before this one are done
    std::vector<Seconds> timed_in;              // how long each full verdict took
    bool leaders_added = false;
    std::map<int, std::string> cpu_models;  // that the first of each group's candidates went to
  };

  // One handler per event.
  void On(const event::ServiceReady& e);
  void On(const event::ServiceLost& e);
  void On(const event::ServiceFailed& e);
  void On(const event::CallFailed& e);
  void On(const event::TrainerProbed& e);
  void On(const event::WorkerProbed& e);
  void On(const event::PolicyLoaded& e);
  void On(const event::Prompt& e);
  void On(const event::Completion& e);
  void On(const event::Progress& e);
  void On(const event::GenerateEnded& e);
  void On(const event::UpdateDone& e);
  void On(const event::CheckpointSaved& e);
  void On(const event::CheckpointsRemoved& e);
  void On(const event::ProblemKnown& e);
  void On(const event::VerdictArrived& e);
  void On(const event::WorkerJoined& e);
  void On(const event::DrainWorker& e);
  void On(const event::RemoveWorker& e);
  void On(const event::Tick& e);
  void On(const event::Stop& e);

  // campaign_state.cc: the frame.
  void Pump();
  void Record(Fact fact);
  void Emit(Action action) { actions_.push_back(std::move(action)); }
  void Finish(absl::Status status);
  void Spend(Seconds now);
  void CheckDeadlines();
  void WatchWorkers();
  void UpdateTraits();

  // campaign_trainer.cc: the trainer's side.
  void PumpTrainer();
  uint64_t StartTrainer(TrainerOp op, std::string name, Seconds allowed);
  void EndTrainer();
  void TrainerTrouble(const absl::Status& status);
  void StartLoad();
  void StartGenerate(const StepRecord& step);
  bool UpdateReady() const;
  void StartUpdate();
  void SetTrainerPosition();
  bool TrainerComputes() const;

  // campaign_workers.cc: the workers' side.
  void OpenSteps();
  StepWork& WorkOf(int64_t step);
  std::vector<Job*> OpenJobs();
  void AddCandidate(int64_t step, int group, int sample);
  void AddLeaderJobs();
  bool LeadersChecked() const;
  void PumpWorkers();
  void PumpProblems(int worker);
  void DispatchJobs();
  void TryDispatch(Job* job);
  void HedgeStragglers();
  void TryHedge(Job* job);
  void StartAttempt(Job* job, int worker, bool timed);
  std::string CpuModelOf(const StepWork& work, int group) const;
  Seconds StragglerAge(const Job& job);
  Job* FindJob(uint64_t call);
  void AttemptFailed(Job* job, uint64_t call, const absl::Status& status);
  void CancelAttempts(Job* job, Seconds beaten_since);
  void GiveUp(Job* job, const std::string& why);
  void Settle(Job* job, const v1::Verdict& verdict);
  void SettleLeader(Job* job, const v1::Verdict& verdict);
  void RecordVerdict(int64_t step, int group, int sample, v1::Verdict verdict);
  void WorkerTrouble(int worker, const absl::Status& status);
  bool SharedTimingInFlight() const;
  const v1::Calibration* CalibrationOf(int worker, const std::string& hash) const;
  std::vector<int> WorkersOn(const std::string& hostname) const;

  // campaign_members.cc: workers that come and go.
  void Leave(int worker, const std::string& why);
  void CancelCalls(WorkerState* worker);

  const CampaignPlan* const plan_;
  Ledger ledger_;
  Dispatcher dispatcher_;
  Trainer trainer_;
  std::vector<WorkerState> workers_;
  std::multimap<std::string, int> by_hostname_;  // workers that once said so
  std::deque<StepWork> work_;                    // one for each of ledger_.open_steps()
  std::map<uint64_t, Job*> calls_;               // measurements in flight or abandoned
  Seconds next_look_ = 0;                        // at deadlines and stragglers
  Seconds no_worker_since_ = -1;
  uint64_t next_call_ = 1;
  Seconds now_ = 0;
  bool started_ = false;
  Seconds step_since_ = 0;
  StepTimes times_;
  bool finished_ = false;
  std::vector<Action> actions_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_STATE_H_
