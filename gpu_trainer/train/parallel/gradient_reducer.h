// Sums a step's gradients over the ranks while the backward pass still computes others (Li et al.,
// arXiv 2006.15704, call it overlapping by buckets).
//
//   GradientReducer reducer(ranks, buckets);                   // each step
//   reducer.Begin();
//   … in the backward pass of this rank's last micro-batch, or at once if it has none:
//   reducer.CompleteDownTo(GradientBuckets::kHead);            // these start sums and return
//   reducer.CompleteDownTo(29); reducer.CompleteDownTo(28); …  // layers
//   reducer.CompleteDownTo(GradientBuckets::kAll);
//   RETURN_IF_ERROR(reducer.Finish());
//
// Ranks that shard the gradients do so for each micro-batch: Begin and all CompleteDownTo, as often
// on all ranks.
//
// It serves one step. Not thread-safe. Borrows ranks and buckets.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_GRADIENT_REDUCER_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_GRADIENT_REDUCER_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/train/parallel/gradient_buckets.h"

namespace whetstone {

class GradientReducer {
 public:
  GradientReducer(RankGroup& ranks, const GradientBuckets& buckets)
      : ranks_(ranks), buckets_(buckets), started_(buckets.buckets().size()), opened_(started_) {}
  // Waits for what was started, as Finish does.
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // From here on gradients may be added to. Sharded ones, which the last micro-batch used, are
  // zero.
  void Begin();

  // This rank will add nothing more to the gradients of `layer` and of all that the backward pass
  // comes to before: their sums start, those that have not yet. After kAll every bucket's has. All
  // ranks must come so far, whatever fails: the others wait for them.
  void CompleteDownTo(int64_t layer);

  // After kAll: the gradients, or where they are sharded this rank's slices of them, are the sums
  // over all ranks. Errors: rank_group.h.
  absl::Status Finish();

 private:
  // A sum that was started and is not finished.
  struct Pending {
    size_t bucket = 0;
    RankGroup::Finish finish;
  };

  // Makes place for bucket i, if it takes turns.
  void Open(size_t i);
  // Waits for the sum that was started first.
  void FinishOne();

  RankGroup& ranks_;
  const GradientBuckets& buckets_;
  size_t started_;  // Buckets whose sum was started; all of them before the first Begin.
  size_t opened_;   // Buckets there is place for.
  std::deque<Pending> pending_;
  absl::Status status_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_GRADIENT_REDUCER_H_
