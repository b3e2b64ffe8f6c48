#include "gpu_trainer/train/learner/grpo_objective.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace whetstone {

GrpoObjective::GrpoObjective(const GrpoPlan& plan, const Minibatch& minibatch,
                             const PackedMinibatch& packed, bool on_policy, GrpoMetrics& metrics)
    : plan_(plan),
      minibatch_(minibatch),
      packed_(packed),
      on_policy_(on_policy),
      metrics_(metrics),
      needs_sequences_(NeedsSequence(plan.loss, on_policy)),
      entropy_weight_(plan.loss.entropy_bonus / static_cast<double>(minibatch.counts.tokens)) {}

void GrpoObjective::BeginBatch(size_t p) {
  batch_ = p;
  sequences_.clear();
}

void GrpoObjective::ReadSequences(const std::vector<float>& logprobs) {
  const std::vector<float>& old = on_policy_ ? logprobs : packed_.old[batch_];
  std::vector<float> path_policy, path_old;
  for (const Path& path : packed_.packed[batch_].paths) {
    path_policy.clear(), path_old.clear();
    for (const int32_t target : path.targets) {
      path_policy.push_back(logprobs[target]);
      path_old.push_back(old[target]);
    }
    sequences_.push_back(
        ComputeSequenceTerms(plan_.loss, path_policy, path_old,
                             minibatch_.sources[path.sequence].rollout->sampling_logprobs()));
  }
}

TokenGradient GrpoObjective::At(size_t i, float logprob, float entropy) {
  const PackedBatch& packed = packed_.packed[batch_];
  TokenGradient gradient;
  for (const Use& use : packed.uses[i]) {
    const Source& source = minibatch_.sources[packed.paths[use.path].sequence];
    const PolicyToken token{
        .policy = logprob,
        .old = on_policy_ ? logprob : packed_.old[batch_][i],
        .sampling = source.rollout->sampling_logprobs(use.token),
        .reference = packed_.reference.empty() ? 0 : packed_.reference[batch_][i],
        .advantage = source.advantage,
        .imitated = source.rollout->imitated()};
    const TokenLoss t = PolicyTokenLoss(
        plan_.loss, token, sequences_.empty() ? SequenceTerms() : sequences_[use.path]);
    const double weight = TokenWeight(plan_.loss, minibatch_.counts, source.rollout->ids_size());
    loss_ += weight * t.value - entropy_weight_ * entropy;
    if (first_bad_token_.empty() && !std::isfinite(loss_)) {
      // A replay compares these words with those that the journal kept: they stay as they are.
      first_bad_token_ =
          absl::StrCat("; first at token ", use.token, " of sample ", source.rollout->sample(),
                       " of problem ", source.group_index, ", whose log-probability is ", logprob,
                       " (", token.sampling, " while sampling)");
    }
    metrics_.AddToken(t, token, entropy);
    gradient.logprob += weight * t.gradient;
    gradient.entropy -= entropy_weight_;
  }
  return gradient;
}

}  // namespace whetstone
