// Repeats a deterministic run from its journal on an undisturbed trainer. Every token is generated,
// those of evaluations too, and every update computed again; only the verdicts are the recorded
// ones. Whatever killed the run, and however often it was resumed, the same tokens, numbers and
// weights must come out bit for bit.
//
//   Replay replay(&plan, {.trainer = trainer, .checkpoint_dir = directory});
//   RETURN_IF_ERROR(replay.Begin());
//   RETURN_IF_ERROR(journal->ForEach(
//       [&](const JournalEntry& entry) { return replay.Take(entry); }));
//   RETURN_IF_ERROR(replay.End());
//
// The replay compares, in the journal's order: each prompt's ids; each rollout's ids, sampling
// log-probabilities, text and ending; each update's request, which is built again from rollouts and
// verdicts as the campaign built it, with the one that the journal has the hash of; its response,
// but for what was timed; and the checksum of each checkpoint, over weights and resume state.
//
// The first difference is DATA_LOSS and named: step, group, sample, field, both values. A trainer
// of another number of ranks than computed the run is FAILED_PRECONDITION, before anything is
// generated. Errors of the trainer keep their code and get the step's name. It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_REPLAY_REPLAY_H_
#define WHETSTONE_COORDINATOR_REPLAY_REPLAY_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/rpc/call_options.h"
#include "coordinator/rpc/trainer_client.h"

namespace whetstone {

// The hooks are what a replay talks to, borrowed for its life.
struct ReplayHooks {
  // Null: nobody can generate it again (a model behind an endpoint wrote it). What the journal says
  // was generated is taken as it is, and only what follows from it is computed again: parents,
  // prompts, requests. The policy must be frozen.
  TrainerClient* trainer = nullptr;
  // Whom the trainer hears of: not the run, which must not find this policy and take it for its
  // own.
  std::string campaign_id = {};
  // Takes the trainer from a campaign that holds it.
  bool steal = false;
  // The control cancels the call in flight and all later ones. It may be null.
  CallControl* control = nullptr;
  // Checkpoints are saved again here, on the trainer's filesystem; it is not the run's own folder.
  std::string checkpoint_dir;
  // Where this is false, each is removed once it is compared.
  bool keep_checkpoints = false;
  // It is told one line for each update and evaluation that was equal. It may be empty.
  std::function<void(const std::string& line)> on_step = nullptr;
  // It is told what is going on while generating, about once a second. It may be empty.
  std::function<void(const std::string& line)> on_status = nullptr;
};

// The counts say how much was found equal so far.
struct ReplayCounts {
  int64_t updates = 0;
  int64_t rollouts = 0;
  int64_t tokens = 0;  // of the rollouts
  int64_t checkpoints = 0;
};

class Replay {
 public:
  // `plan` is borrowed. Updates later than `updates_max`, and all that follows them, are left out;
  // the evaluation after the last one is not.
  Replay(const CampaignPlan* plan, int64_t updates_max, ReplayHooks hooks);

  // Loads the policy that the campaign began with. FAILED_PRECONDITION: the trainer serves another
  // campaign, which is named.
  absl::Status Begin();
  // Takes the journal's entries, one by one and in order.
  absl::Status Take(const JournalEntry& entry);
  // Repeats the rollouts after the last update.
  absl::Status End();
  // Gives the trainer back, however the replay ended. No call follows.
  void Release();

  const ReplayCounts& counts() const { return counts_; }

 private:
  bool past_the_end() const {
    return replayed_.position() >= updates_max_ && replayed_.evaluation() == nullptr;
  }
  // Repeats what was recorded since the last update: its rollouts, of whatever open step, are of
  // the policy that the trainer holds now.
  absl::Status CatchUp();
  // Generates the recorded rollouts of `step` that are still missing and compares them.
  absl::Status Generate(int64_t step);
  // Takes the recorded rollouts that `request` asks for.
  void TakeRecorded(const v1::GenerateRequest& request, int64_t step);
  absl::Status Update(const UpdateEntry& entry);
  absl::Status Evaluation(const EvaluationEntry& entry);
  absl::Status SaveCheckpoint(const CheckpointEntry& entry);
  // Returns how a checkpoint differs from the recorded one, as far as both can be read here.
  std::string DifferentFiles(const std::string& recorded, const std::string& replayed) const;
  std::string RolloutName(int64_t step, int group_index, int sample) const;
  CallOptions Within(double deadline_s) const;
  // Asks the trainer what it is, which is a sign of life of its holder.
  absl::StatusOr<v1::TrainerInfo> Tell();

  const CampaignPlan* const plan_;
  const int64_t updates_max_;
  const ReplayHooks hooks_;
  DurableState recorded_;                          // what the journal says
  DurableState replayed_;                          // what came out again, and the recorded verdicts
  v1::Holder holder_;                              // for every call
  std::chrono::steady_clock::time_point told_at_;  // that it lives
  ReplayCounts counts_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPLAY_REPLAY_H_
