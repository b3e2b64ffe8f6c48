// One update of the policy: GRPO from graded rollouts, or supervised from worked examples.
//
//   Learner learner(config, weights, {});
//   ASSIGN_OR_RETURN(UpdateResult result, learner.Grpo(batch, optimizer_settings));
//
// Both go the same way: sequences → packed micro-batches → DecoderPass → HeadLoss → fp32
// gradients summed over the step → norm, clip, AdamW. The result does not depend on how the step
// was cut into micro-batches, nor on how many ranks share them, but for rounding. With a fixed
// number of threads and ranks it is bitwise reproducible.
//
// With several ranks each is given the whole batch, computes a share of its micro-batches
// (share_out.h), and gets the sum of all gradients: every rank takes the same decision and the same
// optimizer step, and the weights stay equal bit for bit. A rank that fails, or is gone, fails the
// update on all (rank_group.h). With Sharding::kOptimizer a rank steps its slices of the weights
// alone and gets the others'; the weights are the same to the bit. A rank that is lost in between
// leaves the others with weights of both kinds, and a broken group. With Sharding::kGradients it
// also keeps the sums of its slices alone; these are added up in another order, which rounds
// otherwise. With Sharding::kParameters it has, during an update, its slices of the layers' weights
// alone, and gets each layer from the others when it comes to it; a rank that is lost in an update
// leaves the others without them, and a broken group.
//
// Not thread-safe, and nothing may generate from `weights` meanwhile. Throws c10::Error when memory
// runs out; weights and optimizer state are then unchanged unless an earlier minibatch was applied.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_H_

#include <torch/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/train/activation_budget.h"
#include "gpu_trainer/train/batch/grpo_batch.h"
#include "gpu_trainer/train/batch/packing.h"
#include "gpu_trainer/train/decoder_pass.h"
#include "gpu_trainer/train/head_loss.h"
#include "gpu_trainer/train/loss/grpo_settings.h"
#include "gpu_trainer/train/optim/adamw.h"
#include "gpu_trainer/train/optim/gradient_norm.h"
#include "gpu_trainer/train/optim/lora.h"
#include "gpu_trainer/train/optim/loss_scale.h"
#include "gpu_trainer/train/optim/shard_plan.h"
#include "gpu_trainer/train/optim/spike_guard.h"
#include "gpu_trainer/train/parallel/batch_walk.h"
#include "gpu_trainer/train/parallel/gradient_sums.h"
#include "gpu_trainer/train/parallel/weight_shards.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct LearnerOptions {
  // Packed tokens of one micro-batch; 0: see ActivationBudget.
  int64_t token_budget = 0;
  ActivationCheckpointing activation_checkpointing = ActivationCheckpointing::kAuto;
  MomentType optimizer_state = MomentType::kFp32;
  LoraSettings lora = {};               // must pass CheckLora; rank 0: all weights learn
  RankGroup* ranks = nullptr;           // that learn together; borrowed; null: this process alone
  Sharding sharding = Sharding::kNone;  // kParameters: not with adapters
};

struct StepSettings {
  AdamWSettings adamw;
  double max_grad_norm = 0;  // 0: no clipping
  double spike_factor = 0;   // see spike_guard.h; 0: off
  bool grad_norm_per_layer = false;
};

// The frozen model of a KL penalty: any of the policy's vocabulary.
struct ReferenceModel {
  ModelConfig config;
  Weights weights;
};

struct UpdateResult {
  // False: a number was not finite, and `skip_reason` names the tensor, or the update was a spike,
  // or in fp16 a gradient overflowed under the loss scale, which is then smaller for the next;
  // weights and moments are as before. With several minibatches: true if at least one was applied;
  // `skip_reason` then tells which was the first that was not, and it and all later ones were left
  // out.
  bool applied = true;
  std::string skip_reason;
  // TRL's names; see the .cc. Means over the step's learned tokens unless said.
  std::map<std::string, double> metrics;
};

class Learner {
 public:
  // Borrows both; `weights` are updated in place.
  Learner(const ModelConfig& config, Weights& weights, const LearnerOptions& options);

  // INVALID_ARGUMENT: settings out of range, an id outside the vocabulary, a sequence longer than
  // the context, a reward that is not finite, logprobs missing; nothing was changed.
  // A group without spread has no part in the step, KL penalty and entropy bonus included; a step
  // without any learnable group leaves weights and moments untouched (applied, gradient norm 0).
  // `reference` is needed with kl_beta above 0, and else not looked at.
  absl::StatusOr<UpdateResult> Grpo(const v1::GrpoBatch& batch, const StepSettings& settings,
                                    const ReferenceModel* reference = nullptr);

  // Mean cross entropy over the learned tokens of the batch.
  absl::StatusOr<UpdateResult> Supervised(const std::vector<LearnedSequence>& sequences,
                                          const StepSettings& settings);

  // Forgets what belongs to the loss learned so far: the optimizer's moments, the usual size of
  // gradients.
  void BeginPhase();

  SpikeGuard& spike_guard() { return spike_guard_; }
  const SpikeGuard& spike_guard() const { return spike_guard_; }
  // Of a learner in fp16; else empty.
  std::optional<LossScale>& loss_scale() { return loss_scale_; }
  const std::optional<LossScale>& loss_scale() const { return loss_scale_; }
  AdamW& optimizer() { return optimizer_; }
  const AdamW& optimizer() const { return optimizer_; }
  // The adapters, if only they learn.
  const Lora* lora() const { return lora_.get(); }

  // All that must be saved besides the weights, and how to go on after writing into it.
  std::vector<ShardedTensor> State() const;
  void StateWasRestored();

 private:
  // What an update takes, from its construction on.
  class Stopwatch {
   public:
    explicit Stopwatch(const RankGroup& ranks) : ranks_(ranks), traffic_(ranks.traffic()) {}
    // perf/tokens_per_s: packed a second. Of several ranks, on this one: perf/communication_s, with
    // gradients or weights on their way; perf/communication_hidden, the share of it in which there
    // was something else to do; perf/communication_mib, sent; perf/rank_wait_s, for ranks still at
    // work.
    void WriteTo(UpdateResult* result) const;

   private:
    const RankGroup& ranks_;
    const RankTraffic traffic_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  };

  static absl::Status CheckSettings(const StepSettings& settings);
  // Decides on the budget, before the first update: what all ranks have memory for.
  absl::Status PrepareBudget();
  // This rank's micro-batches of the sequences.
  std::vector<PackedBatch> PackMine(const std::vector<LearnedSequence>& sequences) const;
  // What a piece of work does with a micro-batch: nothing of the policy's, its forward pass, both.
  enum class Passes { kNone, kForward, kBoth };
  // Runs `body` on the indices of this rank's micro-batches, as one piece of work of all ranks, and
  // sums gradients: over the micro-batches and then, beside the last one's backward pass, over the
  // ranks; those that are shared out over the ranks in every backward pass. `body` hands `walk`,
  // which it gets where its passes meet the other ranks, to RunBatch.
  absl::Status ForEachOf(const std::vector<PackedBatch>& mine, const std::string& what,
                         Passes passes, const std::function<void(size_t, BatchWalk* walk)>& body);
  // Forward and backward of one micro-batch into gradients_, times the loss scale; without an
  // objective only forward. `before`, if any, gets the whole batch's log-probabilities before the
  // objective is first asked.
  HeadOutput RunBatch(const PackedBatch& batch, double temperature, const TokenObjective& objective,
                      BatchWalk* walk,
                      const std::function<void(const HeadOutput&)>& before = nullptr);
  // Times an update, during which the layers' weights are shared out, if they are to be.
  absl::StatusOr<UpdateResult> RunUpdate(
      const std::function<absl::StatusOr<UpdateResult>()>& update);
  // Supervised and Grpo, of what is sound. learned: tokens.
  absl::StatusOr<UpdateResult> LearnExamples(const std::vector<LearnedSequence>& sequences,
                                             int64_t learned, const StepSettings& settings);
  absl::StatusOr<UpdateResult> LearnDealt(const v1::GrpoBatch& batch, const GrpoPlan& plan,
                                          const DealtBatch& dealt, const StepSettings& settings,
                                          const ReferenceModel* reference);
  // Those of all that learns.
  NamedTensors Gradients() const;
  // Whether each rank has its own slices of what the optimizer keeps.
  bool Shards() const { return options_.sharding != Sharding::kNone && !ranks_.alone(); }
  // … and of the gradients.
  bool ShardsGradients() const { return options_.sharding >= Sharding::kGradients && Shards(); }
  // What the loss is multiplied by on the way back.
  double BackwardScale() const { return loss_scale_.has_value() ? loss_scale_->value() : 1; }
  // Gradients may be summed from here on. They are zero: the last step left them so, or it failed.
  void StartStep();
  // Norm, spike guard, clipping, AdamW, of gradients free of the loss scale; and the next step's
  // loss scale. Empty, or why the step was skipped. `supervised`: the loss has a scale of its own,
  // so that it can spike.
  absl::StatusOr<std::string> ApplyGradients(const StepSettings& settings, double loss,
                                             bool supervised, GradientSize* size);
  // Why a step whose loss, or whose gradient of `culprit`, is not finite was skipped.
  absl::StatusOr<std::string> NotFinite(double loss, const std::string& culprit);
  // grad_norm, and grad_norm/LAYER if measured: `sum` over `steps` optimizer steps, averaged.
  static void WriteNorms(const GradientSize& sum, size_t steps, UpdateResult* result);
  // lr; loss_scale, in fp16, of the next step; num_tokens: learned; perf/packed_tokens: encoded,
  // what sequences share once.
  void WriteSize(const StepSettings& settings, double packed, int64_t learned,
                 UpdateResult* result) const;

  const ModelConfig& config_;
  Weights& weights_;
  const LearnerOptions options_;
  RankGroup alone_;
  RankGroup& ranks_;
  DecoderPass pass_;
  std::unique_ptr<Lora> lora_;
  Weights gradients_;             // fp32; undefined tensors where only adapters learn
  GradientUnits gradient_units_;  // none if alone
  bool gradients_are_zero_ = true;
  std::unique_ptr<WeightShards> weight_shards_;  // with Sharding::kParameters
  AdamW optimizer_;
  SpikeGuard spike_guard_;
  std::optional<LossScale> loss_scale_;
  std::optional<ActivationBudget> budget_;  // see PrepareBudget
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_H_
