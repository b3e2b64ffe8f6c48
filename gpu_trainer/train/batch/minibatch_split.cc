#include "gpu_trainer/train/batch/minibatch_split.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/train/loss/advantage.h"

namespace whetstone {
namespace {

absl::Status CheckGroup(const v1::RolloutGroup& group, const GrpoPlan& plan,
                        const ModelConfig& config, const std::string& where) {
  if (group.prompt_ids().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": no prompt_ids"));
  }
  RETURN_IF_ERROR(CheckIds(group.prompt_ids(), config, absl::StrCat(where, ".prompt_ids")));
  for (int r = 0; r < group.rollouts_size(); ++r) {
    const v1::Rollout& rollout = group.rollouts(r);
    const std::string here = absl::StrCat(where, ".rollouts[", r, "]");
    RETURN_IF_ERROR(CheckIds(rollout.ids(), config, here));
    RETURN_IF_ERROR(CheckLength(group.prompt_ids_size() + rollout.ids_size(), config, here));
    if (rollout.sampling_logprobs_size() != rollout.ids_size()) {
      return absl::InvalidArgumentError(absl::StrCat(here, ": ", rollout.ids_size(), " ids but ",
                                                     rollout.sampling_logprobs_size(),
                                                     " sampling_logprobs"));
    }
    for (int i = 0; i < rollout.sampling_logprobs_size(); ++i) {
      if (!std::isfinite(rollout.sampling_logprobs(i))) {
        return absl::InvalidArgumentError(
            absl::StrCat(here, ": sampling_logprobs[", i, "] is ", rollout.sampling_logprobs(i)));
      }
    }
    if (rollout.imitated() && plan.loss.imitation_weight == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(here, ": it is imitated, and settings.imitation_weight is 0"));
    }
    if (!rollout.dropped() && !std::isfinite(rollout.reward())) {
      return absl::InvalidArgumentError(absl::StrCat(here, ": the reward is ", rollout.reward()));
    }
    if (!(std::isfinite(rollout.reward_error()) && rollout.reward_error() >= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(here, ": the reward's error is ", rollout.reward_error()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckIds(absl::Span<const int32_t> ids, const ModelConfig& config,
                      const std::string& where) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= config.vocab) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": token ", i, " is ", ids[i],
                                                     ", outside the vocabulary of ", config.vocab));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLength(int64_t tokens, const ModelConfig& config, const std::string& where) {
  if (tokens <= config.context) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      where, ": ", tokens, " tokens are more than the model's context of ", config.context));
}

absl::StatusOr<MinibatchSplit> SplitIntoMinibatches(const v1::GrpoBatch& batch,
                                                    const GrpoPlan& plan,
                                                    const ModelConfig& config) {
  MinibatchSplit split;
  const size_t steps = static_cast<size_t>(plan.minibatches);
  split.minibatches.resize(steps);
  std::vector<std::vector<Graded>> graded;
  for (int g = 0; g < batch.groups_size(); ++g) {
    const v1::RolloutGroup& group = batch.groups(g);
    RETURN_IF_ERROR(CheckGroup(group, plan, config, absl::StrCat("groups[", g, "]")));
    graded.emplace_back();
    for (const v1::Rollout& rollout : group.rollouts()) {
      graded.back().push_back({.reward = rollout.reward(),
                               .dropped = rollout.dropped(),
                               .error = rollout.reward_error()});
    }
  }
  const std::vector<GroupAdvantage> advantages = ComputeAdvantages(graded, plan.scale);
  for (int g = 0; g < batch.groups_size(); ++g) {
    const v1::RolloutGroup& group = batch.groups(g);
    const GroupAdvantage& advantage = advantages[g];
    if (!advantage.learnable) continue;
    ++split.learnable_groups;
    size_t next = 0;
    for (int r = 0; r < group.rollouts_size(); ++r) {
      const v1::Rollout& rollout = group.rollouts(r);
      if (rollout.dropped() || rollout.ids().empty()) continue;
      if (plan.mask_truncated && rollout.truncated()) continue;
      if (rollout.imitated() && advantage.values[r] <= 0) continue;
      Minibatch& m = split.minibatches[next++ % steps];
      LearnedSequence& sequence = m.sequences.emplace_back();
      sequence.ids.assign(group.prompt_ids().begin(), group.prompt_ids().end());
      sequence.ids.insert(sequence.ids.end(), rollout.ids().begin(), rollout.ids().end());
      sequence.learn_from = group.prompt_ids_size();
      sequence.group = g;
      m.sources.push_back({.rollout = &rollout,
                           .group_index = group.group_index(),
                           .advantage = advantage.values[r]});
      ++m.counts.sequences;
      m.counts.tokens += rollout.ids_size();
    }
  }
  return split;
}

}  // namespace whetstone
