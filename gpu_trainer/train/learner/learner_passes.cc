// These are Learner's passes over packed micro-batches, and the collectives beside them.
#include <algorithm>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "common/status_macros.h"
#include "gpu_trainer/profile/device_memory.h"
#include "gpu_trainer/train/batch/data_parallel_partition.h"
#include "gpu_trainer/train/learner/learner.h"
#include "gpu_trainer/train/parallel/gradient_reducer.h"

namespace whetstone {

absl::Status Learner::PrepareBudget() {
  if (budget_.has_value()) return absl::OkStatus();
  // What the learner itself needs is allocated by now. Ranks of one host share its memory.
  const torch::Device device = weights_.device();
  ASSIGN_OR_RETURN(const std::vector<std::vector<double>> free,
                   ranks_.AllGatherNumbers(
                       "free memory", {1.0 / ranks_.sharing(device) * FreeTensorBytes(device)}));
  const double least = (*std::min_element(free.begin(), free.end()))[0];
  budget_.emplace(config_, weights_.dtype(), options_.token_budget,
                  options_.activation_checkpointing, static_cast<int64_t>(least), device);
  return absl::OkStatus();
}

std::vector<PackedBatch> Learner::PackMine(const std::vector<LearnedSequence>& sequences) const {
  return PackForRank(sequences, budget_->limits(), config_, ranks_.rank(), ranks_.size());
}

absl::Status Learner::ForEachOf(const std::vector<PackedBatch>& mine, const std::string& what,
                                PolicyPasses passes,
                                const std::function<void(size_t, MicroBatchCollectives*)>& body) {
  // Where ranks meet in each micro-batch, another rank may have more of them.
  const bool learn = passes == PolicyPasses::kForwardAndBackward;
  const bool in_each = learn ? gradient_buckets_.sharded()
                             : passes == PolicyPasses::kForward && fsdp_shards_ != nullptr;
  size_t meetings = learn ? 1 : 0;
  if (in_each) {
    ASSIGN_OR_RETURN(
        const auto counts,
        ranks_.AllGatherNumbers("the number of micro-batches", {static_cast<double>(mine.size())}));
    for (const std::vector<double>& count : counts) {
      meetings = std::max(meetings, static_cast<size_t>(count[0]));
    }
  }
  GradientReducer reducer(ranks_, gradient_buckets_);
  std::optional<MicroBatchCollectives> collectives;
  size_t met = 0;
  const auto meet = [&] {
    if (collectives.has_value()) collectives->End();
    if (learn) reducer.Begin();
    collectives.emplace(weights_.layers.size(),
                        learn ? MicroBatchCollectives::Passes::kForwardAndBackward
                              : MicroBatchCollectives::Passes::kForward,
                        fsdp_shards_.get(), learn ? &reducer : nullptr);
    ++met;
  };
  RETURN_IF_ERROR(ranks_.StatusBarrier(what, [&] {
    // This runs also where a micro-batch failed, or where there was none.
    const absl::Cleanup meet_all = [&] {
      while (met < meetings) meet();
      if (collectives.has_value()) collectives->End();
    };
    for (size_t p = 0; p < mine.size(); ++p) {
      const bool here = meetings > 0 && (in_each || p + 1 == mine.size());
      if (here) meet();
      body(p, here ? &*collectives : nullptr);
      ranks_.Working();
    }
    return absl::OkStatus();
  }));
  if (fsdp_shards_ != nullptr) RETURN_IF_ERROR(fsdp_shards_->status());
  return reducer.Finish();
}

HeadOutput Learner::RunBatch(const PackedBatch& batch, double temperature,
                             const TokenObjective& objective, MicroBatchCollectives* collectives,
                             const std::function<void(const HeadOutput&)>& before) {
  torch::NoGradGuard no_grad;
  const bool learn = objective != nullptr;
  // Calls `meet` as the pass comes to a layer, where there are collectives.
  const auto on_layer =
      [collectives](void (MicroBatchCollectives::*meet)(size_t)) -> DecoderPass::OnLayer {
    if (collectives == nullptr) return nullptr;
    return [collectives, meet](size_t layer) { (collectives->*meet)(layer); };
  };
  const torch::Tensor hidden =
      pass_.Forward(batch, learn ? budget_->keep() : DecoderPass::Keep::kNothing,
                    on_layer(&MicroBatchCollectives::Forward));
  if (before) before(HeadLoss(hidden, weights_.lm_head, batch.targets, temperature));
  HeadGradient gradient{.hidden = {}, .weight = gradients_.lm_head};
  TokenObjective scaled;
  if (learn) {
    scaled = [&objective, scale = BackwardScale()](size_t i, float logprob, float entropy) {
      const TokenGradient unscaled = objective(i, logprob, entropy);
      return TokenGradient{.logprob = scale * unscaled.logprob,
                           .entropy = scale * unscaled.entropy};
    };
  }
  HeadOutput out = HeadLoss(hidden, weights_.lm_head, batch.targets, temperature, scaled,
                            learn ? &gradient : nullptr);
  if (!learn) return out;
  if (collectives != nullptr) collectives->HeadDone();
  pass_.Backward(gradient.hidden, gradients_, lora_.get(),
                 on_layer(&MicroBatchCollectives::Backward),
                 on_layer(&MicroBatchCollectives::Complete));
  return out;
}

}  // namespace whetstone
