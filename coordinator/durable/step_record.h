// A StepRecord is what is known of one GRPO step whose update is not done, or of an evaluation that
// is not complete: its groups of rollouts and their verdicts, as far as they are there.
//
//   StepRecord step(12, prompts_per_step, group_size);
//   step.groups[0].samples[3].completion = completion;    // DurableState does this, entry by entry
//   if (step.HasAllRollouts() && step.HasAllVerdicts()) Learn(step);
//
// It is a plain value, and not thread-safe.
#ifndef WHETSTONE_COORDINATOR_DURABLE_STEP_RECORD_H_
#define WHETSTONE_COORDINATOR_DURABLE_STEP_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/durable/journal_entry.h"

namespace whetstone {

// Says whether a program is right, and faster than `bar` times the reference by more than noise.
bool ClearlyFaster(const v1::Verdict& verdict, double bar);

// Returns how many tokens a completion has; 0: a model behind an endpoint did not say.
inline int TokenCount(const v1::Completion& completion) {
  return completion.ids().empty() ? completion.tokens() : completion.ids_size();
}

// A CandidateRecord is one rollout.
struct CandidateRecord {
  std::optional<v1::Completion> completion;
  // The source is the program in the completion; nothing where there is no code.
  std::optional<std::string> source;
  std::optional<VerdictEntry> verdict;
};

// A SearchParent is a program that a group is shown (search_archive.h): a right one in the place of
// the reference, a wrong one as an answer that is to be mended.
struct SearchParent {
  std::string hash;
  std::string source;
  double speedup = 0;   // of a right one
  std::string failure;  // what is wrong with it; empty: it is right
};

struct GroupRecord {
  // It is chosen when the group is opened.
  std::optional<SearchParent> parent;
  std::optional<v1::PromptTokens> prompt;
  std::vector<CandidateRecord> samples;  // group_size
  // The policy that sampled it had seen so many updates, counted as in campaign_plan.h; nothing:
  // not yet sampled.
  std::optional<int64_t> policy;
  bool challenger_checked = false;  // an IncumbentEntry of this group is there

  // Returns what part of the variance of the rewards of the kept rollouts, and of `imitated` ones,
  // is error of measurement (common/reward_noise.h). Its verdicts must be there.
  double NoiseShare(const std::vector<v1::Rollout>& imitated = {}) const;
  // Returns whether there is anything else. A group without has no part in an update
  // (gpu_trainer/train/loss/advantage.h).
  bool HasSpread(const std::vector<v1::Rollout>& imitated = {}) const {
    return NoiseShare(imitated) < 1;
  }
};

struct StepRecord {
  StepRecord(int64_t step, int groups, int group_size);

  // Returns how many rollouts its groups have, also those still to come.
  size_t size() const { return groups.size() * groups[0].samples.size(); }
  // Returns whether every rollout of the first `count` groups is there, and every one's prompt.
  bool HasRollouts(size_t count) const;
  bool HasAllRollouts() const { return HasRollouts(groups.size()); }
  // Returns whether every verdict is there, also of rollouts still to come: never true before all
  // of those are.
  bool HasAllVerdicts() const;
  // Returns whether some of the newest round's rollouts are there, and some are not.
  bool Sampling() const;
  // Begins another round of `count` further groups. Every verdict must be there.
  void Refill(int count);
  // Returns how many groups have spread.
  int Informative() const;

  int64_t step;  // as campaign_plan.h counts them
  // The step's own groups come first, then those of each refill (train.dynamic_sampling). Where
  // they are, they stay.
  std::deque<GroupRecord> groups;
  size_t round_begin = 0;  // first group of the newest round
  int refills = 0;
  int prompts = 0, rollouts = 0, verdicts = 0;  // recorded in `groups`

 private:
  int group_size() const { return static_cast<int>(groups[0].samples.size()); }
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_STEP_RECORD_H_
