// The CampaignPlan is everything about a campaign that is fixed before its first event, and the
// arithmetic of its position: updates are counted through both phases, 1 … W supervised (warm-up),
// W+1 … W+S GRPO.
#ifndef WHETSTONE_COORDINATOR_DURABLE_CAMPAIGN_PLAN_H_
#define WHETSTONE_COORDINATOR_DURABLE_CAMPAIGN_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct PlannedProblem {
  v1::Problem problem;
  std::string hash;                   // ProblemHash(problem)
  std::vector<v1::Message> messages;  // what the policy is asked
  // The same with each of train.hints, which take turns; empty: there are none.
  std::vector<std::vector<v1::Message>> hinted = {};
  std::string response_prefix = {};  // what every answer begins with
};

struct CampaignPlan {
  v1::Campaign campaign;
  // The id names this run to the trainer and in candidate ids; it is unique.
  std::string campaign_id;
  std::vector<PlannedProblem> problems;             // at least one
  std::vector<std::vector<v1::SftExample>> warmup;  // one batch per warm-up update
  std::string checkpoint_dir;                       // on the trainer's filesystem

  int64_t warmup_updates() const { return static_cast<int64_t>(warmup.size()); }
  int64_t updates() const { return warmup_updates() + campaign.train().steps(); }
  // Returns the name of the update that is number `position` (from 1).
  v1::UpdateName NameOf(int64_t position) const;
  // Returns 0 for a name without phase, and a position beyond the campaign for a name that is not
  // part of it.
  int64_t PositionOf(const v1::UpdateName& name) const;
  // Returns the problem that group `group` of GRPO step `step` (from 1) works on: problems take
  // turns.
  const PlannedProblem& ProblemOf(int64_t step, int group_index) const;
  // Returns what that group asks: each time a problem comes round, with the next of train.hints.
  const std::vector<v1::Message>& MessagesOf(int64_t step, int group_index) const;
  // Returns whether the policy is saved once `position` updates are done.
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

// Returns "warm-up 3" or "step 12", for people.
std::string PhaseStep(const v1::UpdateName& name);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_CAMPAIGN_PLAN_H_
