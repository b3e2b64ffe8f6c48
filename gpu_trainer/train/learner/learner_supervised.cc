// Learner::Supervised is an update from worked examples.
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/train/batch/minibatch_split.h"
#include "gpu_trainer/train/learner/learner.h"

namespace whetstone {

absl::StatusOr<UpdateResult> Learner::Supervised(const std::vector<LearnedSequence>& sequences,
                                                 const StepSettings& settings) {
  RETURN_IF_ERROR(CheckSettings(settings));
  int64_t learned = 0;
  for (size_t s = 0; s < sequences.size(); ++s) {
    const LearnedSequence& sequence = sequences[s];
    const std::string where = absl::StrCat("example ", s);
    const int64_t length = static_cast<int64_t>(sequence.ids.size());
    RETURN_IF_ERROR(CheckIds(sequence.ids, config_, where));
    RETURN_IF_ERROR(CheckLength(length, config_, where));
    if (sequence.learn_from < 1 || sequence.learn_from >= length) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": ", length, " tokens, learned from token ", sequence.learn_from,
                       " on; at least one must come before and one be learned"));
    }
    learned += length - sequence.learn_from;
  }
  if (sequences.empty()) return absl::InvalidArgumentError("a supervised batch without examples");

  return RunUpdate([&] { return LearnExamples(sequences, learned, settings); });
}

absl::StatusOr<UpdateResult> Learner::LearnExamples(const std::vector<LearnedSequence>& sequences,
                                                    int64_t learned, const StepSettings& settings) {
  RETURN_IF_ERROR(PrepareBudget());
  UpdateResult result;
  StartStep();
  double loss = 0, entropy_sum = 0, packed_tokens = 0;
  const double weight = 1.0 / static_cast<double>(learned);
  const std::vector<PackedBatch> mine = PackMine(sequences);
  const auto learn = [&](size_t p, MicroBatchCollectives* collectives) {
    const PackedBatch& packed = mine[p];
    packed_tokens += static_cast<double>(packed.ids.size());
    const auto objective = [&](size_t i, float logprob, float entropy) {
      const double uses = static_cast<double>(packed.uses[i].size());
      loss -= uses * weight * logprob;
      entropy_sum += uses * entropy;
      return TokenGradient{.logprob = -uses * weight};
    };
    RunBatch(packed, /*temperature=*/1.0, objective, collectives);
  };
  RETURN_IF_ERROR(
      ForEachOf(mine, "learning the examples", PolicyPasses::kForwardAndBackward, learn));
  RETURN_IF_ERROR(ranks_.AllReduceNumbers("sums", {&loss, &entropy_sum, &packed_tokens}));
  GradientSize size;
  ASSIGN_OR_RETURN(result.skip_reason, ApplyGradients(settings, loss, /*supervised=*/true, &size));
  result.applied = result.skip_reason.empty();
  WriteNorms(size, 1, &result);
  result.metrics["loss"] = loss;
  result.metrics["entropy"] = entropy_sum * weight;
  WriteSize(settings, packed_tokens, learned, &result);
  return result;
}

}  // namespace whetstone
