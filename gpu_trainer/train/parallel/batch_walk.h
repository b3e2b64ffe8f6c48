// Where the passes of one micro-batch meet the other ranks, in the one order that all keep: a
// layer's weights come before it computes, its gradients go once they are complete.
//
//   BatchWalk walk(layers, BatchWalk::Way::kThereAndBack, shards, sums);
//   walk.Forward(0); … walk.HeadDone(); walk.Backward(29); … walk.Complete(29); … walk.End();
//
// Each call goes through all that was left out before it. So a rank that has no such micro-batch,
// or whose own failed, keeps the others company by End alone: they would wait for it.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_BATCH_WALK_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_BATCH_WALK_H_

#include <cstddef>

#include "gpu_trainer/train/parallel/gradient_sums.h"
#include "gpu_trainer/train/parallel/weight_shards.h"

namespace whetstone {

class BatchWalk {
 public:
  enum class Way { kThere, kThereAndBack };  // the forward pass alone, or with its backward pass

  // Borrows both; null: weights are whole, gradients are not summed.
  BatchWalk(size_t layers, Way way, WeightShards* shards, GradientSums* sums)
      : layers_(layers), way_(way), shards_(shards), sums_(sums) {}

  // Before the layer's forward, or backward, pass.
  void Forward(size_t layer) { GoTo(layer); }
  void Backward(size_t layer) { GoTo(layers_ + 1 + 2 * (layers_ - 1 - layer)); }
  // After them.
  void HeadDone() { GoTo(layers_); }
  void Complete(size_t layer) { GoTo(layers_ + 2 + 2 * (layers_ - 1 - layer)); }
  void End() { GoTo(way_ == Way::kThere ? layers_ - 1 : 3 * layers_ + 1); }

 private:
  void GoTo(size_t place) {
    for (; next_ <= place; ++next_) Meet(next_);
  }
  // Places: the layers' forward passes, the head, each layer's backward pass and its end, the end.
  void Meet(size_t place);

  const size_t layers_;
  const Way way_;
  WeightShards* const shards_;
  GradientSums* const sums_;
  size_t next_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_BATCH_WALK_H_
