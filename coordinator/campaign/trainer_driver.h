// Drives the trainer, which does one thing at a time: load the policy and catch up with the
// journal, generate, update, save. It is a pure state machine, one of CampaignState's three.
//
//   TrainerDriver trainer(&context);
//   trainer.Begin();
//   trainer.On(event::ServiceReady{kTrainer});
//   if (trainer.Idle()) trainer.Schedule({.compute = true, .update = measured});
//
// Each Schedule starts at most one call, and whatever that call answers is an event. A call that
// fails, or does not answer by its deadline, leaves unknown whether the trainer is still there and
// with which policy: it is probed, given back what it forgot (a checkpoint, then the journal's
// updates), and asked again. It ends the campaign (CampaignContext::Finish) when asking again is
// pointless (common/retry_policy.h), after kFailuresMax failed calls or kLossesMax losses of the
// trainer without anything new between (a rollout, an update, a checkpoint), when the trainer has
// been away for patience.trainer_s, and with OK once every update is done and saved, and every
// evaluation complete. What it forgot is nothing new: a trainer may take it back and die again in
// the same update. How often a trainer that is away was probed counts for nothing: it may refuse
// connections until it has started.
//
// The trainer serves one campaign (trainer.proto): every call says that this is the one which holds
// it, and a sign of life goes out when there is nothing to ask. A trainer that serves another is
// waited for as long. Once it was held and another has taken it, the campaign ends,
// with ABORTED: it never takes it back by itself.
//
// While the campaign is paused it holds the trainer, and asks nothing else of it.
//
// An event that answers another call than the running one is ignored. It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_TRAINER_DRIVER_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_TRAINER_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "coordinator/campaign/campaign_context.h"
#include "coordinator/campaign/campaign_events.h"
#include "coordinator/campaign/wait.h"
#include "coordinator/durable/step_record.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// The trainer is asked to do one of these; kKeep is to keep the policy of an earlier process of
// this campaign, kReplay an update the journal holds, once more.
enum class TrainerOp { kNone, kProbe, kKeep, kLoad, kGenerate, kUpdate, kReplay, kSave, kRemove };

class TrainerDriver {
 public:
  static constexpr int kFailuresMax = 6;
  static constexpr int kLossesMax = 4;

  // `context` is borrowed. The trainer counts as down until ServiceReady.
  explicit TrainerDriver(CampaignContext* context) : context_(context) {}

  // The campaign begins: from now on the trainer is waited for.
  void Begin() { down_since_ = context_->now(); }

  // Takes the trainer from another campaign that holds it; before the first event.
  void Steal() { steal_ = true; }

  // Service events are the trainer's (kTrainer), not a worker's.
  void On(const event::ServiceReady& e);
  void On(const event::ServiceLost& e);
  void On(const event::ServiceFailed& e);
  void On(const event::CallFailed& e) {
    if (op_ != TrainerOp::kNone && e.call == call_) Fail(e.status);
  }
  void On(const event::TrainerProbed& e);
  void On(const event::PolicyLoaded& e);
  void On(const event::Prompt& e);
  // Records the rollout and returns the step it is of; nothing if the rollout is there already.
  std::optional<int64_t> On(const event::Completion& e);
  void On(const event::Progress& e);
  void On(const event::GenerateEnded& e);
  // Returns the request of a new update that is done, for the caller to record; nothing for an
  // update that was repeated.
  std::optional<v1::UpdateRequest> On(const event::UpdateDone& e);
  void On(const event::CheckpointSaved& e);
  void On(const event::CheckpointsRemoved& e);

  // Gives up a call that takes too long, and the campaign if the trainer stays away.
  void CheckDeadlines();
  // The campaign was paused for so long: that is no patience with a trainer that is away.
  void Excuse(Seconds paused);

  // The measuring allows the trainer to start this.
  struct Allowed {
    bool compute = false;  // no timing in flight that a computing trainer would spoil
    bool update = false;   // everything that the next update learns from is there
  };
  // Returns whether Schedule may start something.
  bool Idle() const { return op_ == TrainerOp::kNone && up_ && context_->now() >= retry_at_; }
  // Starts what is next, if it is allowed. The driver must be Idle.
  void Schedule(const Allowed& allowed);

  // Cancels the running call, if there is one.
  void Cancel();
  // Gives the trainer back to whoever wants it. No call follows.
  void Release() {
    if (held_ && up_) context_->Emit(action::ReleaseTrainer{holder_});
  }

  TrainerOp op() const { return op_; }
  // Returns whether the trainer was there, or a call to it failed, and it has not answered since;
  // or it serves another campaign.
  bool lost() const { return held_since_ >= 0 || (down_since_ >= 0 && !last_error_.empty()); }
  // Returns whether it generates rollouts of `step`.
  bool Generates(int64_t step) const { return op_ == TrainerOp::kGenerate && step_ == step; }
  // Returns whether the trainer uses its cores.
  bool computes() const { return op_ != TrainerOp::kNone && op_ != TrainerOp::kProbe; }
  // Returns what the last probe said.
  const v1::TrainerInfo& info() const { return info_; }
  // Returns what the running generation reported last.
  const v1::GenerateProgress& progress() const { return progress_; }
  void AddWaits(std::vector<Wait>* waits) const;

 private:
  bool Answers(uint64_t call, TrainerOp op) const { return op_ == op && call_ == call; }
  Seconds patience() const { return context_->plan().campaign.patience().trainer_s(); }
  uint64_t Start(TrainerOp op, std::string name, Seconds allowed);
  void End();
  // The running call is done.
  void Succeed();
  void Fail(const absl::Status& status);
  // Starts what is next, if there is anything.
  void StartNext(const Allowed& allowed);
  void StartKeep();
  void StartLoad();
  void StartGenerate(const StepRecord& step);
  void StartUpdate();
  void SetPosition();
  // Returns "campaign b-2, heard of 3 s ago".
  std::string OtherHolder() const {
    return absl::StrFormat("campaign %s, heard of %.0f s ago", info_.held_by(), info_.heard_s());
  }

  CampaignContext* const context_;
  bool up_ = false;
  bool probed_ = false;  // info_ is of the process that is there now
  v1::TrainerInfo info_;
  // The policy it holds has seen so many updates; unknown: load one.
  std::optional<int64_t> position_;
  v1::Holder holder_;       // as whom this process holds it …
  bool current_ = false;    // … unless a load since has been without an answer
  bool held_ = false;       // it did once
  Seconds told_at_ = 0;     // that it lives
  uint64_t sign_call_ = 0;  // by which it was told last without another reason
  bool steal_ = false;
  // These are of the running call.
  TrainerOp op_ = TrainerOp::kNone;
  uint64_t call_ = 0;
  std::string op_name_;
  Seconds since_ = 0;
  Seconds deadline_ = 0;
  int64_t step_ = 0;    // whose rollouts it generates …
  size_t groups_ = 0;   // … those of its first groups
  int64_t target_ = 0;  // position after the running load, update or replay
  v1::UpdateRequest update_;
  v1::GenerateProgress progress_;
  // These tell of trouble.
  Seconds down_since_ = 0;   // negative: it is there
  Seconds held_since_ = -1;  // another campaign holds it since; negative: none does
  Seconds retry_at_ = 0;     // probe again not before this
  int failures_ = 0;         // of calls but probes, since anything new came of one
  int losses_ = 0;           // of the trainer, since anything new came of it
  std::string broken_off_;   // what it computed when it last failed, until something succeeds
  std::string last_error_;
  std::string load_path_;              // what the running load loads
  size_t load_choice_ = 0;             // 0: the newest checkpoint; 1: the one before it …
  std::vector<std::string> obsolete_;  // checkpoints to remove
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_TRAINER_DRIVER_H_
