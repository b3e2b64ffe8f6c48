// Schedules the measuring of every candidate: who measures what, when, and how often. It is a pure
// state machine, one of CampaignState's three.
//
//   MeasureScheduler measuring(&context, &members);
//   measuring.OpenSteps();
//   measuring.AddCandidate(step, group, sample);        // its rollout is recorded
//   measuring.Schedule(/*trainer_computes=*/true);      // → action::Measure
//   measuring.On(event::VerdictArrived{call, verdict}); // → its entry, with the reward
//
// Every rollout with code becomes part of a job (rollouts of one text and group share it) that goes
// to the workers: check and time at once, or, where the worker shares cores with the trainer, check
// while the trainer computes and time once it is quiet. A group is timed on one CPU model. An
// attempt ends with a verdict, or fails: by an error, by its deadline, or with its worker. Then its
// job is tried again, elsewhere if there is an elsewhere, kAttemptsMax times in a row; one whose
// workers die is tried alone, and given up after kWorkerLossesMax of them. What takes much longer
// than usual is tried on an idle worker besides (Hedge), and the first verdict counts. Given up
// means an INFRASTRUCTURE_ERROR, which is never learned from, or, if that would be most of a step,
// that it is tried anew (lost_candidates.h). Once the verdicts of the step whose update is next are
// in, its challengers (challengers.h) are measured afresh. An evaluation goes first, and has none.
//
// It ends the campaign (CampaignContext::Finish) when there have been candidates for
// patience.worker_s, but nobody to measure them, or nothing came of it for patience.measuring_s.
// Events that answer no call of its own are ignored. It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_MEASURE_SCHEDULER_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_MEASURE_SCHEDULER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/campaign/campaign_context.h"
#include "coordinator/campaign/campaign_events.h"
#include "coordinator/campaign/lost_candidates.h"
#include "coordinator/campaign/measure_queue.h"
#include "coordinator/campaign/membership.h"
#include "coordinator/campaign/verdict_recorder.h"
#include "coordinator/campaign/wait.h"

namespace whetstone {

class MeasureScheduler {
 public:
  // A candidate is tried so often before it is given up as INFRASTRUCTURE_ERROR.
  static constexpr int kAttemptsMax = 4;
  // So many workers may be lost while they measure it.
  static constexpr int kWorkerLossesMax = 2;

  // Both are borrowed.
  MeasureScheduler(CampaignContext* context, Membership* members)
      : context_(context),
        members_(members),
        recorder_(context, members),
        lost_(context, &recorder_) {}

  // Brings the jobs in line with the durable state's open steps: forgets what is over, opens what
  // is new, with a job for whatever is not measured yet (on resume, rollouts of an earlier
  // process). It is called before the first event, and after every update and evaluation.
  void OpenSteps();
  // Schedules an open step's rollout that is recorded. One without code, or whose text has its
  // verdict, gets its own at once.
  void AddCandidate(int64_t step, int group_index, int sample);

  void On(const event::VerdictArrived& e);
  void On(const event::CallFailed& e);
  // What it was measuring may be the cause, and is tried alone from now on.
  void WorkerLost(const LostWorker& lost);
  // The worker's attempts count no more, nor do verdicts that are on their way: perhaps it is
  // removed because it measures badly. It is neither the candidates' fault nor the worker's.
  void Withdraw(int worker);

  // Gives up attempts that take too long.
  void CheckAttempts();
  // Gives up the campaign if there has been nobody who measures for too long.
  void CheckWorkers();
  // The campaign was paused for so long: that is no patience with workers that are away.
  void Excuse(Seconds paused);
  // Starts what can start now, unless paused; the step whose update is next goes first.
  void Schedule(bool trainer_computes);
  // Tries stragglers elsewhere besides: what is idle after Schedule, nobody needs.
  void Hedge(bool trainer_computes);
  // Notes since when there are candidates, but nobody to measure them, and whether one could be
  // measured now.
  void WatchWorkers(bool trainer_computes);
  // Cancels every attempt, as the campaign ends.
  void Cancel();

  // Returns whether everything that the next update learns from is there, and its challengers are
  // judged; for warm-up always, during an evaluation never.
  bool UpdateReady() const;
  // Returns whether a timing is in flight that a computing trainer would spoil.
  bool TimesOnTrainersCores() const;
  void AddWaits(std::vector<Wait>* waits) const;

 private:
  Seconds patience() const { return context_->plan().campaign.patience().worker_s(); }
  void AddChallengers();
  void Dispatch(bool trainer_computes);
  void TryDispatch(MeasureJob* job, bool trainer_computes);
  void TryHedge(MeasureJob* job, bool trainer_computes);
  void StartAttempt(MeasureJob* job, int worker, bool timed);
  std::string CpuModelOf(const StepMeasuring& step, int group_index) const;
  Seconds StragglerAge(const MeasureJob& job);
  void AttemptFailed(MeasureJob* job, const MeasureAttempt& attempt, const absl::Status& status);
  void EndAttempt(MeasureJob* job, const MeasureAttempt& attempt, const absl::Status& status);
  void CancelAttempts(MeasureJob* job, Seconds beaten_since);
  // An attempt begun at `since` has measured.
  void Settle(MeasureJob* job, Seconds since, const v1::Verdict& verdict);

  CampaignContext* const context_;
  Membership* const members_;
  VerdictRecorder recorder_;
  LostCandidates lost_;
  MeasureQueue queue_;
  Seconds no_worker_since_ = -1;  // negative: there is one, or nothing to measure
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_MEASURE_SCHEDULER_H_
