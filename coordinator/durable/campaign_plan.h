// The CampaignPlan is everything about a campaign that is fixed before its first event, and the
// arithmetic of its position: updates are counted through both phases, 1 … W supervised (warm-up),
// W+1 … W+S GRPO.
//
// An evaluation is a step of its own kind: groups of rollouts with verdicts, but no update. That of
// the policy which n GRPO steps made has the number -n, so that no number is both.
#ifndef WHETSTONE_COORDINATOR_DURABLE_CAMPAIGN_PLAN_H_
#define WHETSTONE_COORDINATOR_DURABLE_CAMPAIGN_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct SearchParent;  // step_record.h

// A program that is known before the campaign begins, and how many times as fast as the reference
// it is.
struct KnownProgram {
  std::string source;
  std::string hash;  // of its canonical source, as verdicts have it; empty: not known
  double speedup = 0;
};

struct PlannedProblem {
  v1::Problem problem;
  std::string hash;                   // ProblemHash(problem)
  std::vector<v1::Message> messages;  // what the policy is asked
  std::string structs = {};           // as they stand there above the reference; empty: none
  // The same with each of train.hints, which take turns; empty: there are none.
  std::vector<std::vector<v1::Message>> hinted = {};
  std::string response_prefix = {};      // what every answer begins with
  std::vector<KnownProgram> known = {};  // of search.rewrites
};

// The campaign as it was before the operator changed it.
struct FormerCampaign {
  int64_t until_step = 0;  // the first GRPO step that is no longer its
  v1::Campaign campaign;
};

struct CampaignPlan {
  // As it is now. What a step does follows from CampaignAt; what is read here is the same all
  // along, or decides nothing of what came before (coordinator/config/setting_changes.h).
  v1::Campaign campaign;
  std::vector<FormerCampaign> former = {};  // the first one first
  // The id names this run to the trainer and in candidate ids; it is unique.
  std::string campaign_id;
  // Those of `problems`, then those of `eval.problems`; at least one.
  std::vector<PlannedProblem> problems;
  std::vector<std::vector<v1::SftExample>> warmup;  // one batch per warm-up update
  std::string checkpoint_dir;                       // on the trainer's filesystem
  // Where the warm-up's checkpoint is, once there is one: of a copied run, where the original saved
  // it. Empty: where checkpoint_dir says.
  std::string warmup_checkpoint = {};

  // Returns the campaign whose settings that step has: of an evaluation, those of the step before
  // it; 0: of the warm-up.
  const v1::Campaign& CampaignAt(int64_t step) const;
  int64_t warmup_updates() const { return static_cast<int64_t>(warmup.size()); }
  int64_t updates() const { return warmup_updates() + campaign.train().steps(); }
  // Returns how many of the first `position` updates the trainer does: of a frozen policy only the
  // warm-up's. A later step of it ends with its verdicts, and counts as an update all the same.
  int64_t LearnedAt(int64_t position) const {
    return campaign.train().frozen() ? std::min(position, warmup_updates()) : position;
  }
  // These two are all of `problems`.
  std::span<const PlannedProblem> learned() const;
  std::span<const PlannedProblem> evaluated() const;
  // Returns the prompt file of problems[index].
  const std::string& FileOf(size_t index) const;
  // Returns the name of the update that is number `position` (from 1).
  v1::UpdateName NameOf(int64_t position) const;
  // Returns 0 for a name without phase, and a position beyond the campaign for a name that is not
  // part of it. An evaluation's is that of the policy.
  int64_t PositionOf(const v1::UpdateName& name) const;
  // Returns the problem that group `group` of `step` works on: in GRPO steps problems take turns,
  // an evaluation has a group for each of its own.
  const PlannedProblem& ProblemOf(int64_t step, int group_index) const;
  // Returns whether the policy is evaluated once `position` updates are done (a frozen one once),
  // and by which step.
  bool EvaluationDue(int64_t position) const;
  int64_t EvaluationAt(int64_t position) const { return warmup_updates() - position; }
  // Returns what that group asks: each time a problem comes round, with the next of train.hints.
  const std::vector<v1::Message>& MessagesOf(int64_t step, int group_index) const;
  // Returns the same with a right `parent` in the place of the problem's reference, and with how
  // fast it is; or with a wrong one as the answer, and with what is wrong with it.
  std::vector<v1::Message> MessagesFrom(int64_t step, int group_index,
                                        const SearchParent& parent) const;
  // Returns whether the policy is saved once `position` updates are done: not where the last of
  // them changed nothing.
  bool CheckpointDue(int64_t position) const;
  // Returns DIR/warmup or DIR/step-12.
  std::string CheckpointPath(int64_t position) const;
  // Returns the directory of the KL penalty's reference model; empty without a penalty. Unless the
  // campaign names one, it is that of the policy GRPO begins with.
  std::string ReferencePath() const;
  std::string CandidateId(int64_t step, int group_index, int sample) const;
  double LearningRateAt(int64_t position) const;

 private:
  // Returns how many groups came before that one, if no step had more than its own.
  int64_t TurnOf(int64_t step, int group_index) const;
};

inline bool IsEvaluation(int64_t step) { return step <= 0; }
// Returns the name of a step's update or, of an evaluation, of its row.
v1::UpdateName StepName(int64_t step);

// Returns "warm-up 3", "step 12" or "evaluation at step 12", for people.
std::string PhaseStep(const v1::UpdateName& name);
// Returns "12/0/3", or "eval-10/0/3" of an evaluation: step, group and sample.
std::string RolloutPlace(int64_t step, int group_index, int sample);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_CAMPAIGN_PLAN_H_
