#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "gpu_trainer/train/batch/grpo_batch.h"
#include "gpu_trainer/train/learner.h"
#include "gpu_trainer/train/loss/grpo_metrics.h"
#include "gpu_trainer/train/loss/grpo_settings.h"
#include "gpu_trainer/train/loss/loss.h"

namespace whetstone {
namespace {

// A minibatch as it is computed by this rank. Log-probabilities: a vector for each packed batch, by
// target.
struct PackedStep {
  std::vector<PackedBatch> packed;
  // At the start of the Update; empty of the first minibatch: the policy has not changed since.
  std::vector<std::vector<float>> old;
  // Of the reference model; empty: no KL penalty.
  std::vector<std::vector<float>> reference;
};

// The terms of every path's sequence.
std::vector<SequenceTerms> SequencesOf(const LossSettings& settings, const PackedBatch& packed,
                                       const Minibatch& minibatch, const std::vector<float>& policy,
                                       const std::vector<float>& old) {
  std::vector<SequenceTerms> terms;
  std::vector<float> path_policy, path_old;
  for (const Path& path : packed.paths) {
    path_policy.clear(), path_old.clear();
    for (const int32_t target : path.targets) {
      path_policy.push_back(policy[target]);
      path_old.push_back(old[target]);
    }
    terms.push_back(
        ComputeSequenceTerms(settings, path_policy, path_old,
                             minibatch.sources[path.sequence].rollout->sampling_logprobs()));
  }
  return terms;
}

}  // namespace

absl::StatusOr<UpdateResult> Learner::Grpo(const v1::GrpoBatch& batch, const StepSettings& settings,
                                           const ReferenceModel* reference) {
  RETURN_IF_ERROR(CheckSettings(settings));
  ASSIGN_OR_RETURN(const GrpoPlan plan, ParseGrpoSettings(batch.settings()));
  if (plan.loss.kl_beta > 0 && (reference == nullptr || reference->config.vocab != config_.vocab)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "settings.kl_beta is ", plan.loss.kl_beta, " but ",
        reference == nullptr
            ? std::string("there is no reference model")
            : absl::StrCat("the reference model's vocabulary has ", reference->config.vocab,
                           " tokens, the policy's ", config_.vocab)));
  }
  ASSIGN_OR_RETURN(const DealtBatch dealt, DealBatch(batch, plan, config_));
  return RunUpdate([&] { return LearnDealt(batch, plan, dealt, settings, reference); });
}

absl::StatusOr<UpdateResult> Learner::LearnDealt(const v1::GrpoBatch& batch, const GrpoPlan& plan,
                                                 const DealtBatch& dealt,
                                                 const StepSettings& settings,
                                                 const ReferenceModel* reference) {
  const size_t steps = dealt.minibatches.size();
  RETURN_IF_ERROR(PrepareBudget());
  // Everything that must be known before the first optimizer step moves the policy.
  int64_t learned_tokens = 0;
  double packed_tokens = 0;
  std::vector<PackedStep> packed_steps(steps);
  std::optional<DecoderPass> reference_pass;
  if (plan.loss.kl_beta > 0) reference_pass.emplace(reference->config, reference->weights);
  for (size_t m = 0; m < steps; ++m) {
    PackedStep& step = packed_steps[m];
    learned_tokens += dealt.minibatches[m].counts.tokens;
    step.packed = PackMine(dealt.minibatches[m].sequences);
    const auto score = [&](size_t p, BatchWalk* walk) {
      const PackedBatch& packed = step.packed[p];
      packed_tokens += static_cast<double>(packed.ids.size());
      if (m > 0) step.old.push_back(RunBatch(packed, plan.temperature, nullptr, walk).logprobs);
      if (reference_pass.has_value()) {
        torch::NoGradGuard no_grad;
        step.reference.push_back(
            HeadLoss(reference_pass->Forward(packed, DecoderPass::Keep::kNothing),
                     reference->weights.lm_head, packed.targets, plan.temperature)
                .logprobs);
      }
    };
    RETURN_IF_ERROR(ForEachOf(step.packed, "log-probabilities before the step",
                              m > 0 ? Passes::kForward : Passes::kNone, score));
  }

  UpdateResult result;
  GrpoMetrics metrics(plan.loss);
  metrics.AddBatch(batch, dealt.learnable_groups);
  double loss_sum = 0;
  GradientSize size_sum;
  size_t applied = 0;
  for (size_t m = 0; m < steps; ++m) {
    const Minibatch& minibatch = dealt.minibatches[m];
    const PackedStep& step = packed_steps[m];
    if (minibatch.sequences.empty()) continue;
    StartStep();
    const bool on_policy = m == 0;
    const double entropy_weight =
        plan.loss.entropy_bonus / static_cast<double>(minibatch.counts.tokens);
    double loss = 0;
    std::string first_bad;
    const auto learn = [&](size_t p, BatchWalk* walk) {
      const PackedBatch& packed = step.packed[p];
      std::vector<SequenceTerms> sequences;
      std::function<void(const HeadOutput&)> before;
      if (NeedsSequence(plan.loss, on_policy)) {
        before = [&](const HeadOutput& all) {
          sequences = SequencesOf(plan.loss, packed, minibatch, all.logprobs,
                                  on_policy ? all.logprobs : step.old[p]);
        };
      }
      const auto objective = [&](size_t i, float logprob, float entropy) {
        TokenSlopes slopes;
        for (const Use& use : packed.uses[i]) {
          const Source& source = minibatch.sources[packed.paths[use.path].sequence];
          const PolicyToken token{.policy = logprob,
                                  .old = on_policy ? logprob : step.old[p][i],
                                  .sampling = source.rollout->sampling_logprobs(use.token),
                                  .reference = step.reference.empty() ? 0 : step.reference[p][i],
                                  .advantage = source.advantage};
          const TokenLoss t = PolicyTokenLoss(
              plan.loss, token, sequences.empty() ? SequenceTerms() : sequences[use.path]);
          const double weight =
              TokenWeight(plan.loss, minibatch.counts, source.rollout->ids_size());
          loss += weight * t.value - entropy_weight * entropy;
          if (first_bad.empty() && !std::isfinite(loss)) {
            first_bad = absl::StrCat("; first at token ", use.token, " of sample ",
                                     source.rollout->sample(), " of problem ", source.problem,
                                     ", whose log-probability is ", logprob, " (", token.sampling,
                                     " while sampling)");
          }
          metrics.AddToken(t, token, entropy);
          slopes.logprob += weight * t.slope;
          slopes.entropy -= entropy_weight;
        }
        return slopes;
      };
      RunBatch(packed, plan.temperature, objective, walk, before);
    };
    RETURN_IF_ERROR(ForEachOf(step.packed, "learning the rollouts", Passes::kBoth, learn));
    RETURN_IF_ERROR(ranks_.SumNumbers("loss", {&loss}));
    if (!std::isfinite(loss)) {
      ASSIGN_OR_RETURN(const std::vector<std::string> all,
                       ranks_.Gather("the bad token", first_bad));
      first_bad = *std::max_element(all.begin(), all.end());  // of a rank that has one
    }
    GradientSize size;
    ASSIGN_OR_RETURN(result.skip_reason,
                     ApplyGradients(settings, loss, /*supervised=*/false, &size));
    if (!result.skip_reason.empty()) {
      result.skip_reason += first_bad;
      if (steps > 1) {
        result.skip_reason =
            absl::StrCat("minibatch ", m + 1, " of ", steps, ": ", result.skip_reason);
      }
      // What was skipped, where nothing else was done.
      if (applied == 0 && size.culprit.empty()) size_sum = size;
      break;
    }
    ++applied;
    loss_sum += loss;
    size_sum.total += size.total;
    for (const auto& [layer, norm] : size.layers) size_sum.layers[layer] += norm;
  }
  result.applied = result.skip_reason.empty() || applied > 0;
  result.metrics["loss"] = applied > 0 ? loss_sum / static_cast<double>(applied) : 0;
  WriteNorms(size_sum, applied, &result);
  RETURN_IF_ERROR(metrics.CombineOver(ranks_));
  metrics.WriteTo(&result.metrics);
  RETURN_IF_ERROR(ranks_.SumNumbers("tokens", {&packed_tokens}));
  WriteSize(settings, packed_tokens, learned_tokens, &result);
  return result;
}

}  // namespace whetstone
