// Splits the graded rollouts of an Update into minibatches: what each of its optimizer steps
// learns.
//
//   ASSIGN_OR_RETURN(const MinibatchSplit split, SplitIntoMinibatches(batch, plan, config));
//   for (const Minibatch& minibatch : split.minibatches) …
//     PackForRank(minibatch.sequences, …); minibatch.sources[path.sequence].advantage …
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_BATCH_MINIBATCH_SPLIT_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_BATCH_MINIBATCH_SPLIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/train/batch/packing.h"
#include "gpu_trainer/train/loss/grpo_settings.h"
#include "gpu_trainer/train/loss/loss.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// A Source names the rollout that a sequence was made from.
struct Source {
  const v1::Rollout* rollout;  // Borrowed from the batch.
  int32_t group_index;
  double advantage;
};

// A Minibatch is what one optimizer step learns: the rollouts that fall to it, of the groups that
// have spread, each with its prompt before it. What was dropped or is empty is left out, and what
// was cut off, if the plan masks that; and what is imitated without being better than its group.
struct Minibatch {
  std::vector<LearnedSequence> sequences;
  std::vector<Source> sources;  // One for each sequence.
  StepCounts counts;
};

struct MinibatchSplit {
  std::vector<Minibatch> minibatches;  // plan.minibatches of them; some may be empty.
  int64_t learnable_groups = 0;
};

// The minibatches get the learnable rollouts of each group in turn, so that each sees all groups.
// INVALID_ARGUMENT: an id outside the vocabulary, a sequence longer than the context, a
// reward or a sampling logprob that is not finite, logprobs missing, imitated rollouts without an
// imitation_weight. `batch` must outlive the
// result.
absl::StatusOr<MinibatchSplit> SplitIntoMinibatches(const v1::GrpoBatch& batch,
                                                    const GrpoPlan& plan,
                                                    const ModelConfig& config);

// INVALID_ARGUMENT: the first id outside the vocabulary. `where` names the sequence.
absl::Status CheckIds(absl::Span<const int32_t> ids, const ModelConfig& config,
                      const std::string& where);
// INVALID_ARGUMENT: longer than the context.
absl::Status CheckLength(int64_t tokens, const ModelConfig& config, const std::string& where);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_BATCH_MINIBATCH_SPLIT_H_
