// Events and actions are the language between the pure core (campaign_state.h) and the shell
// (campaign_loop.h): events go in, actions come out.
//
// Every action that starts a call carries a fresh `call` number, and the events that answer it
// carry the same one; an answer to a call the core has given up is recognised by that. The shell
// answers every call exactly once (streamed events before the final one), also after CancelCall.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_EVENTS_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_EVENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/durable/seconds.h"
#include "whetstone/v1/trainer.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// A service is kTrainer, or a worker's index from 0.
using ServiceIndex = int;
inline constexpr ServiceIndex kTrainer = -1;

// ---- events -------------------------------------------------------------------------------------
namespace event {

// The service can be called (again). Its memory may be gone.
struct ServiceReady {
  ServiceIndex service = 0;
};
// The service died or its connection broke; it may come back.
struct ServiceLost {
  ServiceIndex service = 0;
  std::string detail;
};
// The service won't come back.
struct ServiceFailed {
  ServiceIndex service = 0;
  std::string detail;
};
// A call, whichever, ended badly.
struct CallFailed {
  uint64_t call = 0;
  absl::Status status;
};
struct TrainerProbed {
  uint64_t call = 0;
  v1::TrainerInfo info;
};
struct WorkerProbed {
  uint64_t call = 0;
  v1::WorkerInfo info;
};
struct PolicyLoaded {
  uint64_t call = 0;
  v1::LoadCheckpointResponse response = {};
};
struct Prompt {
  uint64_t call = 0;
  v1::PromptTokens prompt;
};
struct Completion {
  uint64_t call = 0;
  v1::Completion completion;
};
struct Progress {
  uint64_t call = 0;
  v1::GenerateProgress progress;
};
struct GenerateEnded {
  uint64_t call = 0;
};
struct UpdateDone {
  uint64_t call = 0;
  v1::UpdateResponse response;
};
struct CheckpointSaved {
  uint64_t call = 0;
  v1::SaveCheckpointResponse response;
};
struct CheckpointsRemoved {
  uint64_t call = 0;
  v1::RemoveCheckpointsResponse response;
};
struct ProblemKnown {
  uint64_t call = 0;
  v1::Calibration calibration;
};
struct VerdictArrived {
  uint64_t call = 0;
  v1::Verdict verdict;
};
// One more worker joins; its index is the next one. ServiceReady follows.
struct WorkerJoined {
  int worker = 0;
  std::string name;
};
// The worker gets no new work; when what it measures has ended, WorkerLeft says so.
struct DrainWorker {
  int worker = 0;
};
// The worker is not to be talked to any more: what it measures is asked of others.
struct RemoveWorker {
  int worker = 0;
};
// Nothing new is to begin until Unpause; what runs ends.
struct Pause {};
struct Unpause {};
// Time passes. It is sent about once a second.
struct Tick {};
// The operator wants to stop.
struct Stop {};

}  // namespace event

using CampaignEvent =
    std::variant<event::ServiceReady, event::ServiceLost, event::ServiceFailed, event::CallFailed,
                 event::TrainerProbed, event::WorkerProbed, event::PolicyLoaded, event::Prompt,
                 event::Completion, event::Progress, event::GenerateEnded, event::UpdateDone,
                 event::CheckpointSaved, event::CheckpointsRemoved, event::ProblemKnown,
                 event::VerdictArrived, event::WorkerJoined, event::DrainWorker,
                 event::RemoveWorker, event::Pause, event::Unpause, event::Tick, event::Stop>;

// ---- actions ------------------------------------------------------------------------------------
namespace action {

// `entry` is written to the journal before any action after this one is done.
struct Record {
  JournalEntry entry;
};
// The service is asked what it is (GetInfo). `holder` is what the trainer is told, once it is held.
struct Probe {
  uint64_t call = 0;
  ServiceIndex service = 0;
  v1::Holder holder = {};
};
struct LoadPolicy {
  uint64_t call = 0;
  std::string path;           // empty: the policy that is there
  std::string checksum = {};  // as the journal has it; empty: any
  bool steal = false;         // from another campaign that holds the trainer
};
struct Generate {
  uint64_t call = 0;
  v1::GenerateRequest request;
};
struct Update {
  uint64_t call = 0;
  v1::UpdateRequest request;
};
// The update that the journal holds under this name is sent again.
struct ReplayUpdate {
  uint64_t call = 0;
  v1::UpdateName name;
  v1::Holder holder;
};
struct SaveCheckpoint {
  uint64_t call = 0;
  std::string path;
  v1::Holder holder;
};
struct RemoveCheckpoints {
  uint64_t call = 0;
  std::vector<std::string> paths;
  v1::Holder holder;
};
// The trainer is needed no longer. Nobody waits for an answer.
struct ReleaseTrainer {
  v1::Holder holder;
};
struct PutProblem {
  uint64_t call = 0;
  int worker = 0;
  size_t problem = 0;  // index in the plan
  // `calibration` is what the host measured before; without one the worker measures.
  bool has_calibration = false;
  v1::Calibration calibration;
};
struct Measure {
  uint64_t call = 0;
  int worker = 0;
  v1::MeasureRequest request;
};
// The call's answer, if one still comes, matters no more.
struct CancelCall {
  uint64_t call = 0;
};
// The worker has left, drained or removed: no call to it follows.
struct WorkerLeft {
  int worker = 0;
};
// A step, warm-up update or evaluation is done; the row is already recorded.
struct StepDone {
  v1::UpdateName name;
  std::map<std::string, double> row;
  // The line is the console's, "step 12  reward 0.43 …"; with a profile it has a second one, its
  // bottleneck.
  std::string line;
};
// `entry` is the problem's new best program: its incumbent.
struct NewIncumbent {
  IncumbentEntry entry;
};
// The rollout's program was faster than physics allows, twice.
struct Suspect {
  VerdictEntry entry;
  std::string source;
};
// `text` tells people about something out of the ordinary.
struct Notice {
  std::string text;
};
// No more actions follow. OK: done. CANCELLED: stopped as asked.
struct Finish {
  absl::Status status;
};

}  // namespace action

using Action =
    std::variant<action::Record, action::Probe, action::LoadPolicy, action::Generate,
                 action::Update, action::ReplayUpdate, action::SaveCheckpoint,
                 action::RemoveCheckpoints, action::ReleaseTrainer, action::PutProblem,
                 action::Measure, action::CancelCall, action::WorkerLeft, action::StepDone,
                 action::NewIncumbent, action::Suspect, action::Notice, action::Finish>;

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_EVENTS_H_
