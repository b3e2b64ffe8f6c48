// What is known of one GRPO step whose update is not done: its groups of rollouts and their
// verdicts, as far as they are there.
//
//   StepRecord step(12, prompts_per_step, group_size);
//   step.groups[0].samples[3].completion = completion;    // the ledger does this, fact by fact
//   if (step.HasAllRollouts() && step.HasAllVerdicts()) Learn(step);
//
// A plain value; not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CAMPAIGN_STEP_RECORD_H_
#define WHETSTONE_COORDINATOR_CAMPAIGN_STEP_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/campaign/facts.h"

namespace whetstone {

// One rollout.
struct CandidateRecord {
  std::optional<v1::Completion> completion;
  // Extracted from the completion; nothing where there is no code.
  std::optional<std::string> source;
  std::optional<VerdictFact> verdict;
};

struct GroupRecord {
  std::optional<v1::PromptTokens> prompt;
  std::vector<CandidateRecord> samples;  // group_size
  // Updates in the policy that sampled it, counted as in campaign_plan.h; nothing: not yet sampled.
  std::optional<int64_t> policy;
  bool leader_checked = false;

  // At least two rollouts are kept, and their rewards are not all equal. A group without spread has
  // no part in an update (gpu_trainer/train/loss/advantage.h). Its verdicts must be there.
  bool HasSpread() const;
};

struct StepRecord {
  StepRecord(int64_t step, int groups, int group_size);

  // Every rollout of the first `count` groups is there, and every one's prompt.
  bool HasRollouts(size_t count) const;
  bool HasAllRollouts() const { return HasRollouts(groups.size()); }
  // Also of rollouts still to come: never true before all of them are there.
  bool HasAllVerdicts() const;
  // Of the newest round's rollouts some are there, and some are not.
  bool Sampling() const;
  // Another round: `count` further groups. Every verdict must be there.
  void Refill(int count);
  // Groups with spread.
  int Informative() const;

  int64_t step;  // from 1
  // The step's own first, then those of each refill (train.dynamic_sampling). Where they are, they
  // stay.
  std::deque<GroupRecord> groups;
  size_t round_begin = 0;  // first group of the newest round
  int refills = 0;
  int prompts = 0, rollouts = 0, verdicts = 0;  // recorded in `groups`

 private:
  int group_size() const { return static_cast<int>(groups[0].samples.size()); }
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CAMPAIGN_STEP_RECORD_H_
