// The loop is the shell around the pure core: threads, calls, journal. It runs a campaign so:
//
//   wait for events  →  core: actions  →  journal the entries  →  start calls, tell people
//
// Every call runs on a thread of its own and answers with one event; all state is touched by the
// thread in Run alone.
//
//   CampaignLoop loop(&plan, {.trainer = t, .workers = w, .journal = j, .clock = &clock, …});
//   loop.Post(event::ServiceReady{kTrainer});       // from any thread
//   absl::Status status = loop.Run(&state);         // until the core has finished
#ifndef WHETSTONE_COORDINATOR_LOOP_CAMPAIGN_LOOP_H_
#define WHETSTONE_COORDINATOR_LOOP_CAMPAIGN_LOOP_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "coordinator/campaign/campaign_events.h"
#include "coordinator/campaign/campaign_state.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/journal/journal.h"
#include "coordinator/loop/call_threads.h"
#include "coordinator/rpc/call_options.h"
#include "coordinator/rpc/trainer_client.h"
#include "coordinator/rpc/worker_client.h"

namespace whetstone {

// The hooks are what the loop works with, borrowed for its life (`workers` by index), and whom it
// tells. The functions are called on Run's thread; an error of on_step, on_incumbent or
// on_suspect ends the campaign (the journal has the entries: nothing is lost).
struct LoopHooks {
  TrainerClient* trainer = nullptr;
  std::vector<WorkerClient*> workers;
  Journal* journal = nullptr;
  const Clock* clock = nullptr;
  // The calendar clock, for the journal: microseconds since 1970.
  std::function<int64_t()> wall_time_us = UnixMicros;
  // `time_us`: of the update's journal entry.
  std::function<absl::Status(const action::StepDone&, int64_t time_us)> on_step;
  std::function<absl::Status(const IncumbentEntry&)> on_incumbent;
  std::function<absl::Status(const VerdictEntry&, const std::string& source)> on_suspect;
  std::function<void(const CheckpointEntry&)> on_checkpoint;
  std::function<void(const std::string&)> on_notice;
  // The worker has left: no call to it will be started any more.
  std::function<void(int worker)> on_worker_left;
  // This is called about once a second with what is going on.
  std::function<void(const std::string& line)> on_status;
};

class CampaignLoop {
 public:
  CampaignLoop(const CampaignPlan* plan, LoopHooks hooks);
  // Cancels what is in flight and waits for its threads.
  ~CampaignLoop();

  // Post is thread-safe.
  void Post(CampaignEvent event);
  // `question` is called on Run's thread once the events posted before it are handled; with null
  // once Run has ended, perhaps on this thread. It is called always, and once. Ask is thread-safe.
  using Question = std::function<void(const CampaignState* state, Seconds now)>;
  void Ask(Question question);
  // Adds the client that calls to the next worker go to; it is borrowed. AddWorker is called from a
  // question only, before WorkerJoined is posted for that worker.
  void AddWorker(WorkerClient* worker) { workers_.push_back(worker); }
  // Runs the campaign until the core has finished. OK: it is done. CANCELLED: it was stopped. Other
  // errors say why it ended.
  absl::Status Run(CampaignState* state);

 private:
  // News is what came since the loop last looked.
  struct News {
    std::vector<CampaignEvent> events;
    std::vector<Question> questions;
    std::vector<uint64_t> ended_calls;
  };

  absl::Status RunUntilFinished(CampaignState* state);
  // Waits for an event or a question; gives a tick when none comes.
  News Next();
  Seconds Now() const;
  // `actions` are what `state` answered last.
  absl::Status Perform(const CampaignState& state, std::vector<Action> actions);
  // Runs `body` on a thread of its own and posts what it returns.
  void Start(uint64_t number, std::function<CampaignEvent(CallControl*)> body);

  absl::Status Do(const action::Record&);
  absl::Status Do(const action::Probe& a);
  absl::Status Do(const action::LoadPolicy& a);
  absl::Status Do(const action::Generate& a);
  absl::Status Do(action::Update& a);
  absl::Status Do(const action::ReplayUpdate& a);
  absl::Status Do(const action::SaveCheckpoint& a);
  absl::Status Do(const action::RemoveCheckpoints& a);
  absl::Status Do(const action::ReleaseTrainer& a);
  absl::Status Do(const action::PutProblem& a);
  absl::Status Do(action::Measure& a);
  absl::Status Do(const action::CancelCall& a);
  absl::Status Do(const action::WorkerLeft& a);
  absl::Status Do(const action::StepDone& a);
  absl::Status Do(const action::NewIncumbent& a);
  absl::Status Do(const action::Suspect& a);
  absl::Status Do(const action::Notice& a);
  absl::Status Do(const action::Finish& a);
  void SendUpdate(uint64_t call, v1::UpdateRequest request);

  const CampaignPlan* const plan_;
  const LoopHooks hooks_;
  std::vector<WorkerClient*> workers_;                                // by index
  std::unordered_map<uint64_t, std::shared_ptr<CallControl>> calls_;  // in flight, by number
  absl::Status result_;
  int64_t appended_us_ = 0;  // the wall time of the last append

  std::mutex mutex_;
  std::condition_variable arrived_;
  News news_;           // protected by mutex_
  bool ended_ = false;  // protected by mutex_

  CallThreads threads_;  // the last member: what it runs uses the others
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_CAMPAIGN_LOOP_H_
