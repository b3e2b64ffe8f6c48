// The sums of a step's gradients over the ranks, made while the backward pass still computes others
// (Li et al., arXiv 2006.15704, call it overlapping by buckets).
//
//   const GradientUnits units(gradients.Named());        // once
//   GradientSums sums(ranks, units);                     // each step
//   sums.Begin();
//   … in the backward pass of this rank's last micro-batch, or at once if it has none:
//   sums.CompleteDownTo(GradientUnits::kHead);           // these start sums and return
//   sums.CompleteDownTo(29); sums.CompleteDownTo(28); …  // layers
//   sums.CompleteDownTo(GradientUnits::kAll);
//   RETURN_IF_ERROR(sums.Finish());
//
// What is summed together, a unit, is a layer, or its adapters; the head, if it is not the
// embedding; and all the rest, which is complete last: the embedding learns at both ends of the
// model. Each unit lies in one piece of memory, so that nothing is copied.
//
// Ranks that share gradients out (ZeRO-2) have memory for three layers and for what is complete
// last; the layers take turns in it, and of every sum a rank adds its slices to what it keeps. They
// do so for each micro-batch: Begin and all CompleteDownTo, as often on all ranks.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_GRADIENT_SUMS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_GRADIENT_SUMS_H_

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/train/optim/adamw.h"
#include "gpu_trainer/train/optim/shard_plan.h"

namespace whetstone {

// Constant after construction.
class GradientUnits {
 public:
  // Besides the layers, 0, 1, …
  static constexpr int64_t kHead = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kAll = -1;

  struct Unit {
    int64_t down_to = 0;  // complete with this layer; or kHead, kAll
    std::string name;     // "layers.3", "head", "embedding"
    torch::Tensor flat;  // the unit's gradients, each from a multiple of 64 bytes on, zeros between
    std::vector<size_t> tensors;  // which they are
  };

  // None: what a rank that is alone has.
  GradientUnits() = default;
  // `gradients`, all contiguous and of one type, are zero afterwards and lie elsewhere: the tensors
  // behind all handles are moved.
  explicit GradientUnits(const NamedTensors& gradients);
  // The same for ranks that share them out, of which this is `rank`: layers' gradients are there
  // from one's beginning in the backward pass until the third after it begins.
  GradientUnits(const NamedTensors& gradients, int rank, int ranks);

  // In the order in which the backward pass completes them.
  const std::vector<Unit>& units() const { return units_; }
  // Whether they are shared out. Then:
  bool shared() const { return !mine_.empty(); }
  // This rank's slices of the sums (shard_plan.h), flat, by tensor.
  const NamedTensors& mine() const { return mine_; }
  // Whether unit i takes turns with others.
  bool TakesTurns(size_t i) const {
    return shared() && units_[i].down_to != kHead && units_[i].down_to != kAll;
  }
  // Adds this rank's slices of the unit's gradients, as they are, to its own.
  void Keep(const Unit& unit) const;

  // Layers in memory at once: one is computed, two are being summed.
  static constexpr size_t kTurns = 3;

 private:
  std::vector<Unit> units_;
  NamedTensors gradients_;
  std::vector<Slice> slices_;  // by tensor
  NamedTensors mine_;
};

// Of one step. Not thread-safe. Borrows both.
class GradientSums {
 public:
  GradientSums(RankGroup& ranks, const GradientUnits& units)
      : ranks_(ranks), units_(units), started_(units.units().size()), opened_(started_) {}
  // Waits for what was started, as Finish does.
  ~GradientSums();
  GradientSums(const GradientSums&) = delete;
  GradientSums& operator=(const GradientSums&) = delete;

  // Gradients may be added to. Shared ones, which the last micro-batch used, are zero.
  void Begin();

  // This rank will add nothing more to the gradients of `layer` and of all that the backward pass
  // comes to before: their sums start, those that have not yet. After kAll every unit's has. All
  // ranks must come so far, whatever fails: the others wait for them.
  void CompleteDownTo(int64_t layer);

  // After kAll: the gradients, or where they are shared this rank's slices of them, are the sums
  // over all ranks. Errors: rank_group.h.
  absl::Status Finish();

 private:
  struct OnTheWay {
    size_t unit = 0;
    RankGroup::Finish finish;
  };

  // Makes place for unit i, if it takes turns.
  void Open(size_t i);
  // Waits for the sum that was started first.
  void FinishOne();

  RankGroup& ranks_;
  const GradientUnits& units_;
  size_t started_;  // of the units; all, before the first Begin …
  size_t opened_;   // … and those there is place for
  std::deque<OnTheWay> on_the_way_;
  absl::Status status_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_GRADIENT_SUMS_H_
