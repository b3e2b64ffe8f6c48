// A step's gradients lie in buckets: what is summed over the ranks in one piece.
//
//   const GradientBuckets buckets(gradients.Named());            // gradients of whole tensors
//   const GradientBuckets sharded(gradients.Named(), 1, 4);      // rank 1 of 4 keeps its slices
//
// A bucket is a layer, or its adapters; the head, if it is not the embedding; and all the rest,
// which is complete last: the embedding learns at both ends of the model. Each bucket lies in one
// piece of memory, so that nothing is copied.
//
// Ranks that shard the gradients (ZeRO-2) have memory for kTurns layers and for what is complete
// last. The layers take turns in it, and of every sum a rank adds its slices to those it keeps.
//
// A bucket's memory belongs to this object; the tensors it was made of are handles into it.
// Constant after construction.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_GRADIENT_BUCKETS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_GRADIENT_BUCKETS_H_

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/train/optim/adamw.h"
#include "gpu_trainer/train/optim/shard_plan.h"

namespace whetstone {

class GradientBuckets {
 public:
  // These stand beside the layers, 0, 1, …
  static constexpr int64_t kHead = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kAll = -1;

  // So many layers are in memory at once where they take turns: one is computed, two are being
  // summed.
  static constexpr size_t kTurns = 3;

  struct Bucket {
    int64_t down_to = 0;  // It is complete with this layer, or kHead, kAll.
    std::string name;     // "layers.3", "head", "embedding"
    // The bucket's gradients, each from a multiple of 64 bytes on, zeros between them.
    torch::Tensor flat;
    std::vector<size_t> tensors;  // Their indices among all gradients.
  };

  // This makes no buckets: what a rank that is alone has.
  GradientBuckets() = default;
  // `gradients`, all contiguous and of one type, are zero afterwards and lie elsewhere: the tensors
  // behind all handles are moved.
  explicit GradientBuckets(const NamedTensors& gradients);
  // The same for ranks that shard the gradients, of which this is `rank`: a layer's gradients are
  // there from its beginning in the backward pass until the third layer after it begins.
  GradientBuckets(const NamedTensors& gradients, int rank, int ranks);

  // Returns them in the order in which the backward pass completes them.
  const std::vector<Bucket>& buckets() const { return buckets_; }
  bool sharded() const { return !mine_.empty(); }
  // Returns this rank's slices of the sums (shard_plan.h), flat, by tensor; none unless sharded().
  const NamedTensors& mine() const { return mine_; }
  // Tells whether bucket i takes turns with others.
  bool TakesTurns(size_t i) const {
    return sharded() && buckets_[i].down_to != kHead && buckets_[i].down_to != kAll;
  }
  // Adds this rank's slices of the bucket's gradients, as they are, to its own.
  void Keep(const Bucket& bucket) const;

 private:
  std::vector<Bucket> buckets_;
  NamedTensors gradients_;
  std::vector<Slice> slices_;  // by tensor
  NamedTensors mine_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_GRADIENT_BUCKETS_H_
