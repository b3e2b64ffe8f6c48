// A Learner makes an update of the policy: GRPO from graded rollouts, or supervised from worked
// examples.
//
//   Learner learner(config, weights, {});
//   ASSIGN_OR_RETURN(UpdateResult result, learner.Grpo(batch, optimizer_settings));
//
// Both go the same way: sequences → packed micro-batches → DecoderPass → HeadLoss → fp32
// gradients summed over the step → norm, clip, AdamW. The result does not depend on how the step
// was cut into micro-batches, nor on how many ranks share them, but for rounding. With a fixed
// number of threads and ranks it is bitwise reproducible.
//
// With several ranks each is given the whole batch, computes its partition of the micro-batches
// (data_parallel_partition.h), and gets the sum of all gradients: every rank takes the same
// decision and the same optimizer step, and the weights stay equal bit for bit. A rank that fails,
// or is gone, fails the update on all (rank_group.h). With Sharding::kOptimizer a rank steps its
// slices of the weights alone and gets the others'; the weights are the same to the bit. A rank
// that is lost in between leaves the others with weights of both kinds, and a broken group. With
// Sharding::kGradients it also keeps the sums of its slices alone; these are added up in another
// order, which rounds otherwise. With Sharding::kParameters it has, during an update, its slices of
// the layers' weights alone, and gets each layer from the others when it comes to it; a rank that
// is lost in an update leaves the others without them, and a broken group.
//
// Not thread-safe, and nothing may generate from `weights` meanwhile. Throws c10::Error when memory
// runs out; weights and optimizer state are then unchanged unless an earlier minibatch was applied.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_LEARNER_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_LEARNER_H_

#include <torch/types.h>

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
#include "gpu_trainer/train/batch/minibatch_split.h"
#include "gpu_trainer/train/batch/packing.h"
#include "gpu_trainer/train/learner/activation_budget.h"
#include "gpu_trainer/train/loss/grpo_settings.h"
#include "gpu_trainer/train/optim/adamw.h"
#include "gpu_trainer/train/optim/gradient_norm.h"
#include "gpu_trainer/train/optim/lora.h"
#include "gpu_trainer/train/optim/loss_scale.h"
#include "gpu_trainer/train/optim/outlier_filter.h"
#include "gpu_trainer/train/optim/shard_plan.h"
#include "gpu_trainer/train/parallel/fsdp_shards.h"
#include "gpu_trainer/train/parallel/gradient_buckets.h"
#include "gpu_trainer/train/parallel/micro_batch_collectives.h"
#include "gpu_trainer/train/pass/decoder_pass.h"
#include "gpu_trainer/train/pass/head_loss.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct LearnerOptions {
  // The packed tokens of one micro-batch; 0: see ActivationBudget.
  int64_t token_budget = 0;
  ActivationCheckpointing activation_checkpointing = ActivationCheckpointing::kAuto;
  MomentType optimizer_state = MomentType::kFp32;
  LoraSettings lora = {};      // It must pass CheckLora; rank 0: all weights learn.
  RankGroup* ranks = nullptr;  // The ranks that learn together; borrowed. Null: this process alone.
  Sharding sharding = Sharding::kNone;  // kParameters does not go with adapters.
};

struct StepSettings {
  AdamWSettings adamw;
  double max_grad_norm = 0;  // 0: no clipping.
  double spike_factor = 0;   // The outlier filter's factor (outlier_filter.h); 0: off.
  bool grad_norm_per_layer = false;
};

// A ReferenceModel is the frozen model of a KL penalty: any of the policy's vocabulary.
struct ReferenceModel {
  ModelConfig config;
  Weights weights;
};

struct PackedMinibatch;  // grpo_objective.h

struct UpdateResult {
  // False: a number was not finite, and `skip_reason` names the tensor, or the update was an
  // outlier, or in fp16 a gradient overflowed under the loss scale, which is then smaller for the
  // next; weights and moments are as before. With several minibatches: true if at least one was
  // applied; `skip_reason` then tells which was the first that was not, and it and all later ones
  // were left out.
  bool applied = true;
  std::string skip_reason;
  // Under TRL's names (grpo_metrics.h); means over the step's learned tokens unless said.
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

  // The loss is the mean cross entropy over the learned tokens of the batch.
  absl::StatusOr<UpdateResult> Supervised(const std::vector<LearnedSequence>& sequences,
                                          const StepSettings& settings);

  // Forgets what belongs to the loss learned so far: the optimizer's moments, the usual size of
  // gradients.
  void BeginPhase();

  OutlierFilter& outlier_filter() { return outlier_filter_; }
  const OutlierFilter& outlier_filter() const { return outlier_filter_; }
  // Returns the loss scale of a learner in fp16; else it is empty.
  std::optional<LossScale>& loss_scale() { return loss_scale_; }
  const std::optional<LossScale>& loss_scale() const { return loss_scale_; }
  AdamW& optimizer() { return optimizer_; }
  const AdamW& optimizer() const { return optimizer_; }
  // Returns the adapters, if only they learn.
  const Lora* lora() const { return lora_.get(); }

  // State returns all that must be saved besides the weights. After writing into it call
  // StateWasRestored.
  std::vector<ShardedTensor> State() const;
  void StateWasRestored();

 private:
  static absl::Status CheckSettings(const StepSettings& settings);
  // Decides on the budget, before the first update: what all ranks have memory for.
  absl::Status PrepareBudget();
  // Returns this rank's micro-batches of the sequences.
  std::vector<PackedBatch> PackMine(const std::vector<LearnedSequence>& sequences) const;
  // A piece of work runs these passes of the policy on a micro-batch.
  enum class PolicyPasses { kNone, kForward, kForwardAndBackward };
  // Runs `body` on the indices of this rank's micro-batches, as one piece of work of all ranks, and
  // sums gradients: over the micro-batches and then, beside the last one's backward pass, over the
  // ranks; sharded ones in every backward pass. `body` hands `collectives`, which it gets where its
  // passes meet the other ranks, to RunBatch.
  absl::Status ForEachOf(
      const std::vector<PackedBatch>& mine, const std::string& what, PolicyPasses passes,
      const std::function<void(size_t, MicroBatchCollectives* collectives)>& body);
  // Runs forward and backward of one micro-batch into gradients_, times the loss scale; without an
  // objective only forward. `before`, if any, gets the whole batch's log-probabilities before the
  // objective is first asked.
  HeadOutput RunBatch(const PackedBatch& batch, double temperature, const TokenObjective& objective,
                      MicroBatchCollectives* collectives,
                      const std::function<void(const HeadOutput&)>& before = nullptr);
  // Times an update, during which the layers' weights are sharded, if they are to be.
  absl::StatusOr<UpdateResult> RunUpdate(
      const std::function<absl::StatusOr<UpdateResult>()>& update);
  // LearnExamples and LearnMinibatches do Supervised and Grpo, of what is sound. `learned` counts
  // tokens.
  absl::StatusOr<UpdateResult> LearnExamples(const std::vector<LearnedSequence>& sequences,
                                             int64_t learned, const StepSettings& settings);
  absl::StatusOr<UpdateResult> LearnMinibatches(const v1::GrpoBatch& batch, const GrpoPlan& plan,
                                                const MinibatchSplit& split,
                                                const StepSettings& settings,
                                                const ReferenceModel* reference);
  // Packs this rank's partition of every minibatch, with all log-probabilities that must be known
  // before the first optimizer step moves the policy. Adds the packed tokens to *packed_tokens.
  absl::StatusOr<std::vector<PackedMinibatch>> PackAndScore(const GrpoPlan& plan,
                                                            const MinibatchSplit& split,
                                                            const ReferenceModel* reference,
                                                            double* packed_tokens);
  // Returns the gradients of all that learns.
  NamedTensors Gradients() const;
  // Tells whether each rank has its own slices of what the optimizer keeps.
  bool Shards() const { return options_.sharding != Sharding::kNone && !ranks_.alone(); }
  // Tells whether it also has its own slices of the gradients.
  bool ShardsGradients() const { return options_.sharding >= Sharding::kGradients && Shards(); }
  // Returns the factor of the loss in the backward pass.
  double BackwardScale() const { return loss_scale_.has_value() ? loss_scale_->value() : 1; }
  // Gradients may be summed from here on. They are zero: the last step left them so, or it failed.
  void StartStep();
  // Measures the gradients' norm, free of the loss scale, filters outliers, clips, steps AdamW, and
  // decides on the next step's loss scale. Returns why the step was skipped; empty: it was not.
  // `supervised`: the loss has a scale of its own, so that it can be an outlier.
  absl::StatusOr<std::string> ApplyGradients(const StepSettings& settings, double loss,
                                             bool supervised, GradientSize* size);
  // Returns why a step whose loss, or whose gradient of `culprit`, is not finite was skipped.
  absl::StatusOr<std::string> NotFinite(double loss, const std::string& culprit);
  // Writes grad_norm, and grad_norm/LAYER if measured: `sum` over `steps` optimizer steps,
  // averaged.
  static void WriteNorms(const GradientSize& sum, size_t steps, UpdateResult* result);
  // Writes lr; loss_scale, in fp16, of the next step; num_tokens, the learned ones;
  // perf/packed_tokens, the encoded ones, where what sequences share counts once.
  void WriteSize(const StepSettings& settings, double packed, int64_t learned,
                 UpdateResult* result) const;

  const ModelConfig& config_;
  Weights& weights_;
  const LearnerOptions options_;
  RankGroup alone_;
  RankGroup& ranks_;
  DecoderPass pass_;
  std::unique_ptr<Lora> lora_;
  Weights gradients_;                 // fp32; undefined tensors where only adapters learn.
  GradientBuckets gradient_buckets_;  // None if alone.
  bool gradients_are_zero_ = true;
  std::unique_ptr<FsdpShards> fsdp_shards_;  // With Sharding::kParameters; else null.
  AdamW optimizer_;
  OutlierFilter outlier_filter_;
  std::optional<LossScale> loss_scale_;
  std::optional<ActivationBudget> budget_;  // See PrepareBudget.
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_LEARNER_H_
