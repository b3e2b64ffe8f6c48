// CampaignState is the campaign itself, as a pure state machine: events and the time go in, actions
// come out. It has no I/O, no clock and no threads, so a hundred steps run in milliseconds under
// test and a whole cluster can be simulated from a seed.
//
//   CampaignState state(&plan, {"worker cpu01", "worker cpu02"});
//   state.Restore(durable_state_of_the_journal);                 // resume; nothing for a new run
//   for (const Action& a : state.Handle(events, now)) Perform(a);
//
// It holds the durable state and routes every event to the machine it concerns; each event is
// followed by one look at all three (`Schedule`):
//
// * TrainerDriver: the trainer does one thing at a time. What it could do first is what makes the
//   policy newer: it generates a step ahead of its time (train.max_staleness) only while an update
//   waits for verdicts;
// * Membership: which workers there are, and what they know;
// * MeasureScheduler: who measures which candidate.
//
// The machines know nothing of each other, but that measuring asks the membership; what one must
// know of another passes through here.
//
// A paused campaign (event::Pause) starts nothing that computes: no generation, update, repeated
// update, checkpoint, measurement or lesson for a worker. What runs ends, and is recorded. The
// trainer hears that it is still held, and what was lost is found again: services are probed, and
// a trainer that forgot the policy loads it, as whoever holds none is anybody's. How long a service
// was away is not counted meanwhile (`patience`), nor does the pause count as time of a step. That
// it was paused is no entry of the journal: nothing that is learned follows from it.
//
// What must survive is recorded as a journal entry before anything is built on it; everything else
// can be lost at any moment. Whatever is waited for has a name and a deadline (Waits). A service
// that is lost is waited for, probed, given back what it forgot, and asked again for what is still
// missing.
//
// It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_STATE_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_STATE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/campaign/campaign_context.h"
#include "coordinator/campaign/campaign_events.h"
#include "coordinator/campaign/measure_scheduler.h"
#include "coordinator/campaign/membership.h"
#include "coordinator/campaign/trainer_driver.h"
#include "coordinator/campaign/wait.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/step_row.h"
#include "whetstone/v1/coordinator.pb.h"

namespace whetstone {

class CampaignState {
 public:
  // `plan` is borrowed; `workers` are names for people, by index. Services count as down until
  // ServiceReady.
  CampaignState(const CampaignPlan* plan, const std::vector<std::string>& workers);

  // Restores what the journal holds, before the first Handle.
  void Restore(DurableState durable) { context_.Restore(std::move(durable)); }

  // Takes the trainer from another campaign that holds it, before the first Handle.
  void StealTrainer() { trainer_.Steal(); }

  // `now` never goes backwards.
  std::vector<Action> Handle(const std::vector<CampaignEvent>& events, Seconds now);

  bool finished() const { return context_.end().has_value(); }
  const DurableState& durable() const { return context_.durable(); }
  // Returns at least one while not finished.
  std::vector<Wait> Waits() const;
  // Returns what services compute now, by the names of Waits.
  std::vector<std::string> Running() const;
  // Returns what is going on, in one line.
  std::string StatusLine(Seconds now) const;
  // Returns the workers by index, those that have left included; without their addresses.
  std::vector<v1::WorkerStatus> Workers(Seconds now) const { return members_.Status(now); }

 private:
  // Each hands one event on.
  void On(const event::ServiceReady& e);
  void On(const event::ServiceLost& e);
  void On(const event::ServiceFailed& e);
  void On(const event::CallFailed& e);
  void On(const event::TrainerProbed& e);
  void On(const event::WorkerProbed& e) { members_.On(e); }
  void On(const event::PolicyLoaded& e) { trainer_.On(e); }
  void On(const event::Prompt& e) { trainer_.On(e); }
  void On(const event::Completion& e);
  void On(const event::Progress& e) { trainer_.On(e); }
  void On(const event::GenerateEnded& e) { trainer_.On(e); }
  void On(const event::UpdateDone& e);
  void On(const event::CheckpointSaved& e) { trainer_.On(e); }
  void On(const event::CheckpointsRemoved& e) { trainer_.On(e); }
  void On(const event::ProblemKnown& e) { members_.On(e); }
  void On(const event::VerdictArrived& e) { measuring_.On(e); }
  void On(const event::WorkerJoined& e) { members_.On(e); }
  void On(const event::DrainWorker& e) { members_.On(e); }
  void On(const event::RemoveWorker& e);
  void On(const event::Pause&);
  void On(const event::Unpause&);
  void On(const event::Tick&) {}
  void On(const event::Stop&);

  void WorkerLost(const std::optional<LostWorker>& lost);
  void CheckDeadlines();
  void Schedule();
  void CloseStep(v1::UpdateRequest request, const v1::UpdateResponse& response);
  void CloseEvaluation();
  bool NextStepIsFrozen() const;
  bool FrozenStepComplete() const;
  void CloseFrozenStep();
  void BeginTimes();
  void AccountTime(Seconds now);
  void End();

  CampaignContext context_;
  TrainerDriver trainer_;
  Membership members_;
  MeasureScheduler measuring_;
  bool started_ = false;
  Seconds next_look_ = 0;   // at deadlines and stragglers
  Seconds step_since_ = 0;  // the last update or evaluation
  StepTimes times_;         // since then
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_STATE_H_
