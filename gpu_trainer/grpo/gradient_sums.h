// The sums of a step's gradients over the ranks, made while the backward pass still computes others
// (Li et al., arXiv 2006.15704, call it overlapping by buckets).
//
//   const GradientUnits units(gradients.Named());        // once
//   GradientSums sums(ranks, units);                     // each step
//   … in the backward pass of this rank's last micro-batch, or at once if it has none:
//   sums.CompleteDownTo(GradientUnits::kHead);           // these start sums and return
//   sums.CompleteDownTo(29); sums.CompleteDownTo(28); …  // layers
//   sums.CompleteDownTo(GradientUnits::kAll);
//   RETURN_IF_ERROR(sums.Finish());
//
// What is summed together, a unit, is a layer, or its adapters; the head, if it is not the
// embedding; and all the rest, which is complete last: the embedding learns at both ends of the
// model. Each unit lies in one piece of memory, so that nothing is copied.
#ifndef WHETSTONE_GPU_TRAINER_GRPO_GRADIENT_SUMS_H_
#define WHETSTONE_GPU_TRAINER_GRPO_GRADIENT_SUMS_H_

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gpu_trainer/grpo/adamw.h"
#include "gpu_trainer/ranks/rank_group.h"

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
  };

  // None: what a rank that is alone has.
  GradientUnits() = default;
  // `gradients`, all contiguous and of one type, are zero afterwards and lie elsewhere: the tensors
  // behind all handles are moved.
  explicit GradientUnits(const NamedTensors& gradients);

  // In the order in which the backward pass completes them.
  const std::vector<Unit>& units() const { return units_; }

 private:
  std::vector<Unit> units_;
};

// Of one step. Not thread-safe. Borrows both.
class GradientSums {
 public:
  GradientSums(RankGroup& ranks, const GradientUnits& units) : ranks_(ranks), units_(units) {}
  // Waits for what was started, as Finish does.
  ~GradientSums();
  GradientSums(const GradientSums&) = delete;
  GradientSums& operator=(const GradientSums&) = delete;

  // This rank will add nothing more to the gradients of `layer` and of all that the backward pass
  // comes to before: their sums start, those that have not yet. After kAll every unit's has. All
  // ranks must come so far, whatever fails: the others wait for them.
  void CompleteDownTo(int64_t layer);

  // After kAll: the gradients are the sums over all ranks. Errors: rank_group.h.
  absl::Status Finish();

 private:
  RankGroup& ranks_;
  const GradientUnits& units_;
  size_t started_ = 0;  // of the units
  std::vector<RankGroup::Finish> on_the_way_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_GRPO_GRADIENT_SUMS_H_
