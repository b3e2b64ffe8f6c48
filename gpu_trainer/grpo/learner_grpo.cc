#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/grpo/grpo_batch.h"
#include "gpu_trainer/grpo/grpo_metrics.h"
#include "gpu_trainer/grpo/grpo_settings.h"
#include "gpu_trainer/grpo/learner.h"
#include "gpu_trainer/grpo/loss.h"

namespace whetstone {
namespace {

// A minibatch as it is computed.
struct PackedStep {
  std::vector<PackedBatch> packed;
  // The log-probabilities at the start of the Update, a vector for each packed batch; empty: the
  // policy has not changed since, old = policy.
  std::vector<std::vector<float>> old;
};

}  // namespace

absl::StatusOr<UpdateResult> Learner::Grpo(const v1::GrpoBatch& batch,
                                           const StepSettings& settings) {
  const Stopwatch watch;
  RETURN_IF_ERROR(CheckSettings(settings));
  ASSIGN_OR_RETURN(const GrpoPlan plan, ParseGrpoSettings(batch.settings()));
  ASSIGN_OR_RETURN(const DealtBatch dealt, DealBatch(batch, plan, config_));
  const size_t steps = dealt.minibatches.size();

  int64_t packed_tokens = 0, learned_tokens = 0;
  std::vector<PackedStep> packed_steps(steps);
  for (size_t m = 0; m < steps; ++m) {
    PackedStep& step = packed_steps[m];
    step.packed = budget_.PackTrees(dealt.minibatches[m].trees);
    for (const PackedBatch& packed : step.packed) {
      packed_tokens += static_cast<int64_t>(packed.ids.size());
      learned_tokens += static_cast<int64_t>(packed.targets.size());
      if (m > 0) step.old.push_back(RunBatch(packed, plan.temperature, nullptr).logprobs);
    }
  }

  UpdateResult result;
  GrpoMetrics metrics;
  metrics.AddBatch(batch, dealt.learnable_groups);
  double loss_sum = 0, norm_sum = 0;
  size_t applied = 0;
  result.metrics["grad_norm"] = 0;
  for (size_t m = 0; m < steps; ++m) {
    const Minibatch& minibatch = dealt.minibatches[m];
    const PackedStep& step = packed_steps[m];
    if (step.packed.empty()) continue;
    StartStep();
    double loss = 0;
    for (size_t p = 0; p < step.packed.size(); ++p) {
      const PackedBatch& packed = step.packed[p];
      RunBatch(packed, plan.temperature, [&](size_t i, float logprob, float entropy) {
        const Target& target = packed.targets[i];
        const Source& source = minibatch.sources[target.tree][target.branch];
        const PolicyToken token{.policy = logprob,
                                .old = step.old.empty() ? logprob : step.old[p][i],
                                .sampling = source.rollout->sampling_logprobs(target.token),
                                .advantage = source.advantage};
        const TokenLoss t = PolicyTokenLoss(plan.loss, token);
        const double weight = TokenWeight(plan.loss, minibatch.counts, source.rollout->ids_size());
        loss += weight * t.value;
        metrics.AddToken(t, token, entropy);
        return weight * t.slope;
      });
    }
    if (!ApplyGradients(settings, loss, &result)) {
      if (steps > 1) {
        result.skip_reason =
            absl::StrCat("minibatch ", m + 1, " of ", steps, ": ", result.skip_reason);
      }
      break;
    }
    ++applied;
    loss_sum += loss;
    norm_sum += result.metrics["grad_norm"];
  }
  result.applied = result.skip_reason.empty() || applied > 0;
  if (applied > 0) {
    result.metrics["loss"] = loss_sum / static_cast<double>(applied);
    result.metrics["grad_norm"] = norm_sum / static_cast<double>(applied);
  } else {
    result.metrics["loss"] = 0;
  }
  metrics.WriteTo(&result.metrics);
  WriteSpeed(settings, packed_tokens, learned_tokens, watch.Seconds(), &result);
  return result;
}

}  // namespace whetstone
