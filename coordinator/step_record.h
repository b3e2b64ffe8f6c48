// What is known of one GRPO step whose update is not done: its groups of rollouts and their
// verdicts, as far as they are there.
//
//   StepRecord step(12, prompts_per_step, group_size);
//   step.groups[0].samples[3].completion = completion;    // the ledger does this, fact by fact
//   if (step.HasAllRollouts() && step.HasAllVerdicts()) Learn(step);
//
// A plain value; not thread-safe.
#ifndef WHETSTONE_COORDINATOR_STEP_RECORD_H_
#define WHETSTONE_COORDINATOR_STEP_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/facts.h"

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
};

struct StepRecord {
  StepRecord(int64_t step, int groups, int group_size);

  // Every rollout is there, and every group's prompt.
  bool HasAllRollouts() const;
  // Also of rollouts still to come: never true before all of them are there.
  bool HasAllVerdicts() const;
  // Some of its rollouts are there, and some are not.
  bool Sampling() const { return rollouts > 0 && !HasAllRollouts(); }

  int64_t step;  // from 1
  std::vector<GroupRecord> groups;
  int prompts = 0, rollouts = 0, verdicts = 0;  // recorded in `groups`

 private:
  int wanted() const { return static_cast<int>(groups.size() * groups[0].samples.size()); }
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_STEP_RECORD_H_
