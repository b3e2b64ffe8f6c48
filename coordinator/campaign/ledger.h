// The durable state of a campaign: a fold over its facts. Living through a campaign and replaying
// its journal are the same calls of Apply, so they reach the same ledger.
//
// With train.max_staleness N the rollouts of up to N steps after the one whose update is next may
// be there already, sampled by a policy that is up to N updates behind the one that learns from
// them. The order of the facts says which policy that was: rollouts are of all the updates before
// them. An update never comes between the rollouts of a step, so that all of a step's are of one
// policy.
//
// With train.dynamic_sampling a step whose verdicts are all there, but too few groups with spread
// among them, gets further groups: a round more of rollouts and verdicts, each of one policy. That
// follows from the verdicts, so no fact says it.
//
// Pure; not thread-safe. Holds the rollouts of the open steps only: memory does not grow with the
// campaign.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_LEDGER_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_LEDGER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/campaign/campaign_plan.h"
#include "coordinator/campaign/facts.h"
#include "coordinator/campaign/step_record.h"

namespace whetstone {

class Ledger {
 public:
  // `plan` is borrowed for the ledger's life.
  explicit Ledger(const CampaignPlan* plan);

  // Whether `fact` can come next: it is of an open step and its first of that kind, the update is
  // the next one, the checkpoint is of the last one. DATA_LOSS says what is wrong: for facts that
  // come from a file.
  absl::Status Check(const Fact& fact) const;
  // A fact that Check refuses is a programmer's error: the caller filters what comes from outside.
  void Apply(const Fact& fact);

  // Updates done so far, both phases (see campaign_plan.h).
  int64_t position() const { return position_; }
  bool done() const { return position_ == plan_->updates(); }
  // The GRPO step whose update is next, from 1; 0 during warm-up or when done.
  int64_t step() const { return open_.empty() ? 0 : open_.front().step; }
  // That step and those whose rollouts may be sampled before its update: in order, at most
  // max_staleness + 1. Empty during warm-up or when done.
  const std::deque<StepRecord>& open_steps() const { return open_; }
  // Of an open step; null if it is none.
  const StepRecord* FindStep(int64_t step) const;
  // Oldest first.
  const std::vector<CheckpointFact>& checkpoints() const { return checkpoints_; }
  bool CheckpointSaved(int64_t position) const;
  // Of checkpoints()[i]: the mean of the GRPO steps' mean rewards since the checkpoint before it;
  // nothing for one without such steps.
  std::optional<double> CheckpointReward(size_t i) const { return checkpoint_rewards_[i]; }
  // The accepted leader of each problem, by problem id.
  const std::map<std::string, LeaderFact>& leaders() const { return leaders_; }
  // Null if that host never measured the problem.
  const v1::Calibration* FindCalibration(const std::string& host_id,
                                         const std::string& problem_hash) const;
  const std::map<std::pair<std::string, std::string>, v1::Calibration>& calibrations() const {
    return calibrations_;
  }

  // How many ranks of a trainer computed the last update; 0: none was, or it does not say.
  int ranks() const { return ranks_; }

  // All of the above as text: equal ledgers, equal fingerprints.
  std::string Fingerprint() const;

 private:
  absl::Status CheckOne(const PromptFact& fact) const;
  absl::Status CheckOne(const RolloutFact& fact) const;
  absl::Status CheckOne(const VerdictFact& fact) const;
  absl::Status CheckOne(const LeaderFact& fact) const;
  absl::Status CheckOne(const UpdateFact& fact) const;
  absl::Status CheckOne(const CheckpointFact& fact) const;
  absl::Status CheckOne(const CalibrationFact&) const { return absl::OkStatus(); }
  absl::Status CheckPlace(const char* what, int64_t step, int group, int sample) const;
  void Set(const PromptFact& fact);
  void Set(const RolloutFact& fact);
  void Set(const VerdictFact& fact);
  void Set(const LeaderFact& fact);
  void Set(const UpdateFact& fact);
  void Set(const CheckpointFact& fact);
  void Set(const CalibrationFact& fact);
  void OpenSteps();
  // Of an open step.
  StepRecord& StepAt(int64_t step);
  CandidateRecord& At(int64_t step, int group, int sample);
  const CandidateRecord& At(int64_t step, int group, int sample) const;

  const CampaignPlan* plan_;
  int64_t position_ = 0;
  int ranks_ = 0;
  std::deque<StepRecord> open_;
  std::vector<CheckpointFact> checkpoints_;
  std::vector<std::optional<double>> checkpoint_rewards_;  // one for each
  // Of the steps since the last checkpoint.
  double reward_sum_ = 0;
  int64_t rewarded_steps_ = 0;
  std::map<std::string, LeaderFact> leaders_;
  std::map<std::pair<std::string, std::string>, v1::Calibration> calibrations_;
};

// How many ranks computed an update; 0: it does not say.
int RanksOf(const v1::UpdateResponse& response);

// FAILED_PRECONDITION: `trainer` has another number of ranks than the `ranks` (0: any) that
// computed a deterministic run, and can neither go on with it nor repeat it bit for bit.
absl::Status CheckRanks(int ranks, const v1::TrainerInfo& trainer);

// Loads `path` as the policy of this campaign, to learn as it says.
v1::LoadCheckpointRequest BuildLoad(const CampaignPlan& plan, const std::string& path);

// The next update; a pure function of plan and ledger. For GRPO every rollout of its step must have
// its verdict.
v1::UpdateRequest BuildUpdate(const CampaignPlan& plan, const Ledger& ledger);

// What is still to be sampled for `step`; no groups if nothing.
v1::GenerateRequest BuildGenerate(const CampaignPlan& plan, const StepRecord& step);

// Which checkpoints are not to be kept: all but the newest checkpoint.keep and, with
// checkpoint.keep_best, the best; and the reference of the KL penalty.
std::vector<std::string> ObsoleteCheckpoints(const CampaignPlan& plan, const Ledger& ledger);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_LEDGER_H_
