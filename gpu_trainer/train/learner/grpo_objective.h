// A GrpoObjective is the loss of one GRPO minibatch and its gradient, target by target, as HeadLoss
// asks for them.
//
//   GrpoObjective objective(plan, minibatch, packed, /*on_policy=*/true, metrics);
//   objective.BeginBatch(p);
//   if (objective.needs_sequences()) objective.ReadSequences(logprobs of all targets);
//   … HeadLoss(…, [&](size_t i, float l, float h) { return objective.At(i, l, h); }, …) …
//   objective.loss()
//
// Not thread-safe; borrows all it is given.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_GRPO_OBJECTIVE_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_GRPO_OBJECTIVE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "gpu_trainer/train/batch/minibatch_split.h"
#include "gpu_trainer/train/batch/packing.h"
#include "gpu_trainer/train/loss/grpo_metrics.h"
#include "gpu_trainer/train/loss/grpo_settings.h"
#include "gpu_trainer/train/loss/loss.h"
#include "gpu_trainer/train/pass/head_loss.h"

namespace whetstone {

// A PackedMinibatch is a minibatch as this rank computes it. Log-probabilities are a vector for
// each packed batch, by target.
struct PackedMinibatch {
  std::vector<PackedBatch> packed;
  // They are the policy's at the start of the Update; empty of the first minibatch, before which
  // the policy has not changed.
  std::vector<std::vector<float>> old;
  // They are the reference model's; empty: there is no KL penalty.
  std::vector<std::vector<float>> reference;
};

class GrpoObjective {
 public:
  // `on_policy` says that the policy is still that at the start of the Update. Adds every token to
  // `metrics`.
  GrpoObjective(const GrpoPlan& plan, const Minibatch& minibatch, const PackedMinibatch& packed,
                bool on_policy, GrpoMetrics& metrics);

  // Tells whether the log-probabilities of a whole batch must be known before its first target.
  bool needs_sequences() const { return needs_sequences_; }

  // The targets asked for from here on are those of packed batch `p`.
  void BeginBatch(size_t p);
  // Takes the policy's log-probabilities of all its targets.
  void ReadSequences(const std::vector<float>& logprobs);
  // Adds the loss of the tokens that target `i` stands for and returns its gradient there.
  TokenGradient At(size_t i, float logprob, float entropy);

  // Returns the loss so far.
  double loss() const { return loss_; }
  // Says at which token the loss ceased to be finite; empty: nowhere.
  const std::string& first_bad_token() const { return first_bad_token_; }

 private:
  const GrpoPlan& plan_;
  const Minibatch& minibatch_;
  const PackedMinibatch& packed_;
  const bool on_policy_;
  GrpoMetrics& metrics_;
  const bool needs_sequences_;
  const double entropy_weight_;
  size_t batch_ = 0;
  std::vector<SequenceTerms> sequences_;  // By path of the batch; empty: the default ones.
  double loss_ = 0;
  std::string first_bad_token_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_GRPO_OBJECTIVE_H_
