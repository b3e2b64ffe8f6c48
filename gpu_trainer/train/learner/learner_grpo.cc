// Learner::Grpo is an update from graded rollouts.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/train/batch/minibatch_split.h"
#include "gpu_trainer/train/learner/grpo_objective.h"
#include "gpu_trainer/train/learner/learner.h"
#include "gpu_trainer/train/loss/grpo_metrics.h"
#include "gpu_trainer/train/loss/grpo_settings.h"

namespace whetstone {

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
  ASSIGN_OR_RETURN(const MinibatchSplit split, SplitIntoMinibatches(batch, plan, config_));
  return RunUpdate([&] { return LearnMinibatches(batch, plan, split, settings, reference); });
}

absl::StatusOr<std::vector<PackedMinibatch>> Learner::PackAndScore(const GrpoPlan& plan,
                                                                   const MinibatchSplit& split,
                                                                   const ReferenceModel* reference,
                                                                   double* packed_tokens) {
  std::vector<PackedMinibatch> minibatches(split.minibatches.size());
  std::optional<DecoderPass> reference_pass;
  if (plan.loss.kl_beta > 0) reference_pass.emplace(reference->config, reference->weights);
  for (size_t m = 0; m < minibatches.size(); ++m) {
    PackedMinibatch& minibatch = minibatches[m];
    minibatch.packed = PackMine(split.minibatches[m].sequences);
    const auto score = [&](size_t p, MicroBatchCollectives* collectives) {
      const PackedBatch& packed = minibatch.packed[p];
      *packed_tokens += static_cast<double>(packed.ids.size());
      if (m > 0) {
        minibatch.old.push_back(RunBatch(packed, plan.temperature, nullptr, collectives).logprobs);
      }
      if (reference_pass.has_value()) {
        torch::NoGradGuard no_grad;
        minibatch.reference.push_back(
            HeadLoss(reference_pass->Forward(packed, DecoderPass::Keep::kNothing),
                     reference->weights.lm_head, packed.targets, plan.temperature)
                .logprobs);
      }
    };
    RETURN_IF_ERROR(ForEachOf(minibatch.packed, "log-probabilities before the step",
                              m > 0 ? PolicyPasses::kForward : PolicyPasses::kNone, score));
  }
  return minibatches;
}

absl::StatusOr<UpdateResult> Learner::LearnMinibatches(const v1::GrpoBatch& batch,
                                                       const GrpoPlan& plan,
                                                       const MinibatchSplit& split,
                                                       const StepSettings& settings,
                                                       const ReferenceModel* reference) {
  const size_t steps = split.minibatches.size();
  RETURN_IF_ERROR(PrepareBudget());
  // Everything is computed here that must be known before the first optimizer step moves the
  // policy.
  double packed_tokens = 0;
  ASSIGN_OR_RETURN(const std::vector<PackedMinibatch> packed,
                   PackAndScore(plan, split, reference, &packed_tokens));

  UpdateResult result;
  GrpoMetrics metrics(plan.loss);
  metrics.AddBatch(batch, split.learnable_groups);
  int64_t learned_tokens = 0;
  double loss_sum = 0;
  GradientSize size_sum;
  size_t applied = 0;
  for (const Minibatch& minibatch : split.minibatches) learned_tokens += minibatch.counts.tokens;
  for (size_t m = 0; m < steps; ++m) {
    const Minibatch& minibatch = split.minibatches[m];
    if (minibatch.sequences.empty()) continue;
    StartStep();
    GrpoObjective objective(plan, minibatch, packed[m], /*on_policy=*/m == 0, metrics);
    const auto learn = [&](size_t p, MicroBatchCollectives* collectives) {
      objective.BeginBatch(p);
      std::function<void(const HeadOutput&)> before;
      if (objective.needs_sequences()) {
        before = [&](const HeadOutput& all) { objective.ReadSequences(all.logprobs); };
      }
      const auto at = [&](size_t i, float logprob, float entropy) {
        return objective.At(i, logprob, entropy);
      };
      RunBatch(packed[m].packed[p], plan.temperature, at, collectives, before);
    };
    RETURN_IF_ERROR(ForEachOf(packed[m].packed, "learning the rollouts",
                              PolicyPasses::kForwardAndBackward, learn));
    double loss = objective.loss();
    std::string first_bad_token = objective.first_bad_token();
    RETURN_IF_ERROR(ranks_.AllReduceNumbers("loss", {&loss}));
    if (!std::isfinite(loss)) {
      ASSIGN_OR_RETURN(const std::vector<std::string> all,
                       ranks_.AllGather("the bad token", first_bad_token));
      first_bad_token = *std::max_element(all.begin(), all.end());  // Some rank has one.
    }
    GradientSize size;
    ASSIGN_OR_RETURN(result.skip_reason,
                     ApplyGradients(settings, loss, /*supervised=*/false, &size));
    if (!result.skip_reason.empty()) {
      result.skip_reason += first_bad_token;
      if (steps > 1) {
        result.skip_reason =
            absl::StrCat("minibatch ", m + 1, " of ", steps, ": ", result.skip_reason);
      }
      // The size is that of what was skipped, where nothing else was done.
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
  RETURN_IF_ERROR(ranks_.AllReduceNumbers("tokens", {&packed_tokens}));
  WriteSize(settings, packed_tokens, learned_tokens, &result);
  return result;
}

}  // namespace whetstone
