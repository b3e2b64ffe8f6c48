// The language between the pure core (campaign_state.h) and the shell (campaign_loop.h): events go
// in, actions come out.
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
#include "coordinator/campaign/facts.h"
#include "whetstone/v1/trainer.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// Seconds of a monotonic clock.
using Seconds = double;
// A service: kTrainer, or a worker's index from 0.
using ServiceIndex = int;
inline constexpr ServiceIndex kTrainer = -1;

// ---- events -------------------------------------------------------------------------------------
namespace event {

// The service can be called (again). Its memory may be gone.
struct ServiceReady {
  ServiceIndex service = 0;
};
// It died or its connection broke; it may come back.
struct ServiceLost {
  ServiceIndex service = 0;
  std::string detail;
};
// It won't come back.
struct ServiceFailed {
  ServiceIndex service = 0;
  std::string detail;
};
// Any call that ended badly.
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
// One more worker: its index is the next one. ServiceReady follows.
struct WorkerJoined {
  int worker = 0;
  std::string name;
};
// It gets no new work; when what it measures has ended, WorkerLeft says so.
struct DrainWorker {
  int worker = 0;
};
// It is not to be talked to any more: what it measures is asked of others.
struct RemoveWorker {
  int worker = 0;
};
// Time passes; sent about once a second.
struct Tick {};
// The operator wants to stop.
struct Stop {};

}  // namespace event

using Event =
    std::variant<event::ServiceReady, event::ServiceLost, event::ServiceFailed, event::CallFailed,
                 event::TrainerProbed, event::WorkerProbed, event::PolicyLoaded, event::Prompt,
                 event::Completion, event::Progress, event::GenerateEnded, event::UpdateDone,
                 event::CheckpointSaved, event::CheckpointsRemoved, event::ProblemKnown,
                 event::VerdictArrived, event::WorkerJoined, event::DrainWorker,
                 event::RemoveWorker, event::Tick, event::Stop>;

// ---- actions ------------------------------------------------------------------------------------
namespace action {

// Write to the journal before doing any action after this one.
struct Record {
  Fact fact;
};
// GetInfo.
struct Probe {
  uint64_t call = 0;
  ServiceIndex service = 0;
};
struct LoadPolicy {
  uint64_t call = 0;
  std::string path;
};
struct Generate {
  uint64_t call = 0;
  v1::GenerateRequest request;
};
struct Update {
  uint64_t call = 0;
  v1::UpdateRequest request;
};
// Send again the update the journal holds under this name.
struct ReplayUpdate {
  uint64_t call = 0;
  v1::UpdateName name;
};
struct SaveCheckpoint {
  uint64_t call = 0;
  std::string path;
};
struct RemoveCheckpoints {
  uint64_t call = 0;
  std::vector<std::string> paths;
};
struct PutProblem {
  uint64_t call = 0;
  int worker = 0;
  size_t problem = 0;  // index in the plan
  // Known from before; absent: the worker measures.
  bool has_calibration = false;
  v1::Calibration calibration;
};
struct Measure {
  uint64_t call = 0;
  int worker = 0;
  v1::MeasureRequest request;
};
// Its answer, if one still comes, matters no more.
struct CancelCall {
  uint64_t call = 0;
};
// Drained or removed: no call to it follows.
struct WorkerLeft {
  int worker = 0;
};
// A step (or warm-up update) is done; the row is already recorded.
struct StepDone {
  v1::UpdateName name;
  std::map<std::string, double> row;
  // "step 12  reward 0.43 …": the console's line; with a profile a second one, its bottleneck.
  std::string line;
};
// `fact` is the problem's new best program.
struct NewLeader {
  LeaderFact fact;
};
// A line for people about something out of the ordinary.
struct Notice {
  std::string text;
};
// No more actions follow. OK: done. CANCELLED: stopped as asked.
struct Finish {
  absl::Status status;
};

}  // namespace action

using Action = std::variant<action::Record, action::Probe, action::LoadPolicy, action::Generate,
                            action::Update, action::ReplayUpdate, action::SaveCheckpoint,
                            action::RemoveCheckpoints, action::PutProblem, action::Measure,
                            action::CancelCall, action::WorkerLeft, action::StepDone,
                            action::NewLeader, action::Notice, action::Finish>;

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_CAMPAIGN_EVENTS_H_
