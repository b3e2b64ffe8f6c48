// The campaign's machines share the plan, the time, the durable state, and the only way out of the
// pure core, a list of actions in the order in which they are to happen.
//
//   CampaignContext context(&plan);
//   TrainerDriver trainer(&context);
//   context.set_now(now);
//   trainer.On(event);
//   for (Action& action : context.TakeActions()) …
//
// CampaignState owns it, and its machines (TrainerDriver, Membership, MeasureScheduler) borrow it
// for their lives. It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_CONTEXT_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/campaign/campaign_events.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/durable_state.h"

namespace whetstone {

class CampaignContext {
 public:
  // `plan` is borrowed.
  explicit CampaignContext(const CampaignPlan* plan) : plan_(plan), durable_(plan) {}
  CampaignContext(const CampaignContext&) = delete;
  CampaignContext& operator=(const CampaignContext&) = delete;

  const CampaignPlan& plan() const { return *plan_; }
  const DurableState& durable() const { return durable_; }
  // Restores what the journal holds, before the first event.
  void Restore(DurableState durable) { durable_ = std::move(durable); }

  // Returns the time of the events that are being handled.
  Seconds now() const { return now_; }
  void set_now(Seconds now) { now_ = now; }

  // While the campaign is paused nothing begins that computes, and nobody's patience is spent.
  // `paused_since` is absent while it is not.
  bool paused() const { return paused_since_.has_value(); }
  const std::optional<Seconds>& paused_since() const { return paused_since_; }
  void Pause() { paused_since_ = now_; }
  void Unpause() { paused_since_.reset(); }

  // Returns a number that no call had before.
  uint64_t NewCall() { return next_call_++; }

  void Emit(Action action) { actions_.push_back(std::move(action)); }
  void Notice(std::string text) { Emit(action::Notice{std::move(text)}); }
  // Makes `entry` part of the durable state, and asks for it to be journaled before any action that
  // comes after. An entry that DurableState::Check refuses is a programmer's error.
  void Record(JournalEntry entry) {
    durable_.Apply(entry);
    Emit(action::Record{std::move(entry)});
  }

  // Ends the campaign; the first call counts. CampaignState cancels what is in flight and emits the
  // last action once the event is handled: who calls this emits nothing more for it.
  void Finish(absl::Status status) {
    if (!end_) end_ = std::move(status);
  }
  // The end is absent while the campaign goes on.
  const std::optional<absl::Status>& end() const { return end_; }

  // Returns the actions emitted since the last call.
  std::vector<Action> TakeActions() { return std::exchange(actions_, {}); }

 private:
  const CampaignPlan* const plan_;
  DurableState durable_;
  Seconds now_ = 0;
  std::optional<Seconds> paused_since_;
  uint64_t next_call_ = 1;
  std::vector<Action> actions_;
  std::optional<absl::Status> end_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_CONTEXT_H_
