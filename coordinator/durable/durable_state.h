// The durable state of a campaign is a fold over the entries of its journal. Living through a
// campaign and replaying its journal are the same calls of Apply, so they reach the same state.
//
// With train.max_staleness N the rollouts of up to N steps after the one whose update is next may
// be there already, sampled by a policy that is up to N updates behind the one that learns from
// them. The order of the entries says which policy that was: rollouts are of all the updates before
// them. An update never comes between the rollouts of a step, so that all of a step's are of one
// policy; that of a frozen policy may, as it changes none.
//
// With train.dynamic_sampling a step whose verdicts are all there, but too few groups with spread
// among them, gets further groups: a round more of rollouts and verdicts, each of one policy. That
// follows from the verdicts, so no entry says it.
//
// An evaluation that is due is an open step too, the first of them. It is a barrier: until its
// entry no update is done, and no further step opens, though those that were open go on.
//
// It is pure, and not thread-safe. It holds the rollouts of the open steps only: memory does not
// grow with the campaign.
#ifndef WHETSTONE_COORDINATOR_DURABLE_DURABLE_STATE_H_
#define WHETSTONE_COORDINATOR_DURABLE_DURABLE_STATE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/durable/remembered_programs.h"
#include "coordinator/durable/search_archive.h"
#include "coordinator/durable/step_record.h"
#include "whetstone/v1/snapshot.pb.h"

namespace whetstone {

class DurableState {
 public:
  // Makes the state of a campaign of which nothing is known but that `position` updates are done.
  // `plan` is borrowed for the durable state's life.
  // `evaluated`: and the evaluation that is due then, if one is.
  explicit DurableState(const CampaignPlan* plan, int64_t position = 0, bool evaluated = false);

  // Returns whether a snapshot of this moment can be gone on from: not while an evaluation is due,
  // which opens no further steps, and finds some open that were opened before.
  bool SnapshotPossible() const { return evaluation() == nullptr; }
  // Returns the state without the rollouts of its open steps, to begin a later fold with.
  v1::StateSnapshot Snapshot() const;
  // Returns the state that `snapshot` was taken of, in two parts: this, then Apply of the entries
  // of its open steps (of those before the snapshot, in order), then FinishRestore. DATA_LOSS: the
  // snapshot is of another version or of another campaign.
  static absl::StatusOr<DurableState> BeginRestore(const CampaignPlan* plan,
                                                   const v1::StateSnapshot& snapshot);
  // Ends what BeginRestore began. DATA_LOSS: an entry of an open step is missing.
  absl::Status FinishRestore(const v1::StateSnapshot& snapshot);

  // Checks whether `entry` can come next: it is of an open step and its first of that kind, the
  // update is the next one, the checkpoint is of the last one. DATA_LOSS says what is wrong: for
  // entries that come from a file.
  absl::Status Check(const JournalEntry& entry) const;
  // An entry that Check refuses is a programmer's error: the caller filters what comes from
  // outside.
  void Apply(const JournalEntry& entry);

  // Returns how many updates are done, of both phases (see campaign_plan.h).
  int64_t position() const { return position_; }
  // Returns whether every update is done, and every evaluation complete.
  bool done() const { return position_ == plan_->updates() && open_.empty(); }
  // Returns the GRPO step whose update can be next, from 1; 0 during warm-up and evaluations, and
  // when done.
  int64_t step() const { return open_.empty() || evaluation() != nullptr ? 0 : open_.front().step; }
  // Returns the evaluation that is due; null if none is.
  const StepRecord* evaluation() const {
    return open_.empty() || !IsEvaluation(open_.front().step) ? nullptr : &open_.front();
  }
  // Returns the evaluation, or the step whose update is next, and the steps whose rollouts may be
  // sampled before that: in order, at most max_staleness + 1. There are none during warm-up or when
  // done.
  const std::deque<StepRecord>& open_steps() const { return open_; }
  // Returns the open step of that number; null if there is none.
  const StepRecord* FindStep(int64_t step) const;
  // Returns the first GRPO step, maybe one beyond the campaign, of which nothing is journaled.
  int64_t FirstUntouchedStep() const;
  // Returns the checkpoints that were saved, oldest first.
  const std::vector<CheckpointEntry>& checkpoints() const { return checkpoints_; }
  bool CheckpointSaved(int64_t position) const;
  // Returns the reward of checkpoints()[i]: the mean of the GRPO steps' mean rewards since the
  // checkpoint before it; nothing for one without such steps.
  std::optional<double> CheckpointReward(size_t i) const { return checkpoint_rewards_[i]; }
  // Returns the mean reward of that policy's evaluation; nothing for one that was not evaluated.
  std::optional<double> CheckpointEvaluation(size_t i) const { return checkpoint_evaluations_[i]; }
  // Returns the best program of each problem, by problem id.
  const std::map<std::string, IncumbentEntry>& incumbents() const { return incumbents_; }
  // Returns what that host measured of the problem; null if it never did.
  const v1::Calibration* FindCalibration(const std::string& host_id,
                                         const std::string& problem_hash) const;
  const std::map<std::pair<std::string, std::string>, v1::Calibration>& calibrations() const {
    return calibrations_;
  }

  // Returns the programs that train.imitation remembers, of the steps whose update is done.
  const ProgramMemory& memory() const { return memory_; }
  // Returns the programs that `search` keeps, of the steps whose update is done.
  const SearchArchive& archive() const { return archive_; }
  // Returns whether a step had a right program of the problem that had ended before the first
  // rollout of `step` could be sampled. That is one before it, or with max_staleness N one that is
  // N earlier: the verdicts of the steps between may come before or after those of `step`.
  bool RightBefore(int64_t step, const std::string& problem_id) const;

  // Returns how many ranks of a trainer computed the last update; 0: there was none, or it does not
  // say.
  int ranks() const { return ranks_; }

  // Returns how many rollouts there are, of all steps.
  int64_t rollouts() const { return rollouts_; }
  // Returns how many verdicts there are of each outcome, of all steps.
  const std::map<int, int64_t>& verdicts() const { return verdicts_; }

  // Returns all of the above as text: equal durable states, equal fingerprints.
  std::string Fingerprint() const;

 private:
  absl::Status CheckOne(const PromptEntry& entry) const;
  absl::Status CheckOne(const RolloutEntry& entry) const;
  absl::Status CheckOne(const VerdictEntry& entry) const;
  absl::Status CheckOne(const IncumbentEntry& entry) const;
  absl::Status CheckOne(const UpdateEntry& entry) const;
  absl::Status CheckOne(const EvaluationEntry& entry) const;
  absl::Status CheckOne(const CheckpointEntry& entry) const;
  absl::Status CheckOne(const CalibrationEntry&) const { return absl::OkStatus(); }
  absl::Status CheckOne(const StartEntry&) const { return absl::OkStatus(); }
  absl::Status CheckOne(const LoadEntry&) const { return absl::OkStatus(); }
  absl::Status CheckOne(const ChangeEntry& entry) const;
  absl::Status CheckPlace(const char* what, int64_t step, int group_index, int sample) const;
  void Set(const PromptEntry& entry);
  void Set(const RolloutEntry& entry);
  void Set(const VerdictEntry& entry);
  void Set(const IncumbentEntry& entry);
  void Set(const UpdateEntry& entry);
  void Set(const EvaluationEntry& entry);
  void Set(const CheckpointEntry& entry);
  void Set(const CalibrationEntry& entry);
  void Set(const StartEntry&) {}
  void Set(const LoadEntry&) {}
  void Set(const ChangeEntry&) {}
  void OpenSteps();
  // Gives the groups of a step that was just opened their parents. Those of refills have none: when
  // one begins depends on the order in which verdicts of several steps come.
  void ChooseParents(StepRecord* step);
  // These are of an open step.
  StepRecord& StepAt(int64_t step);
  CandidateRecord& At(int64_t step, int group_index, int sample);
  const CandidateRecord& At(int64_t step, int group_index, int sample) const;

  const CampaignPlan* plan_;
  int64_t position_ = 0;
  bool evaluated_ = false;  // the evaluation that is due at this position is complete
  int ranks_ = 0;
  std::deque<StepRecord> open_;
  std::vector<CheckpointEntry> checkpoints_;
  std::vector<std::optional<double>> checkpoint_rewards_;      // one for each
  std::vector<std::optional<double>> checkpoint_evaluations_;  // one for each
  // These are of the steps since the last checkpoint.
  double reward_sum_ = 0;
  int64_t rewarded_steps_ = 0;
  std::map<std::string, IncumbentEntry> incumbents_;
  std::map<std::pair<std::string, std::string>, v1::Calibration> calibrations_;
  ProgramMemory memory_;
  SearchArchive archive_;
  std::map<std::string, int64_t>
      first_right_;  // by problem id, the first step with a right program
  int64_t rollouts_ = 0;
  std::map<int, int64_t> verdicts_;
};

// Returns how many ranks computed an update; 0: it does not say.
int RanksOf(const v1::UpdateResponse& response);

// FAILED_PRECONDITION: `trainer` has another number of ranks than the `ranks` (0: any) that
// computed a deterministic run, and can neither go on with it nor repeat it bit for bit.
absl::Status CheckRanks(int ranks, const v1::TrainerInfo& trainer);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_DURABLE_STATE_H_
