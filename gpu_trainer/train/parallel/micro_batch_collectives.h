// The collectives of one micro-batch are in the one order that all ranks keep: a layer's weights
// come before it computes, its gradients go once they are complete.
//
//   MicroBatchCollectives collectives(layers, MicroBatchCollectives::Passes::kForwardAndBackward,
//                                     shards, reducer);
//   collectives.Forward(0); … collectives.HeadDone();
//   collectives.Backward(29); … collectives.Complete(29); … collectives.End();
//
// Each call goes through all that was left out before it. So a rank that has no such micro-batch,
// or whose own failed, keeps the others company by End alone: they would wait for it.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_MICRO_BATCH_COLLECTIVES_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_MICRO_BATCH_COLLECTIVES_H_

#include <cstddef>

#include "gpu_trainer/train/parallel/fsdp_shards.h"
#include "gpu_trainer/train/parallel/gradient_reducer.h"

namespace whetstone {

class MicroBatchCollectives {
 public:
  enum class Passes { kForward, kForwardAndBackward };

  // Borrows both. Null shards: the weights are whole. Null reducer: gradients are not summed.
  MicroBatchCollectives(size_t layers, Passes passes, FsdpShards* shards, GradientReducer* reducer)
      : layers_(layers), passes_(passes), shards_(shards), reducer_(reducer) {}

  // These come before the layer's forward, or backward, pass.
  void Forward(size_t layer) { GoTo(layer); }
  void Backward(size_t layer) { GoTo(layers_ + 1 + 2 * (layers_ - 1 - layer)); }
  // These come after the head's, and after the layer's backward pass.
  void HeadDone() { GoTo(layers_); }
  void Complete(size_t layer) { GoTo(layers_ + 2 + 2 * (layers_ - 1 - layer)); }
  void End() { GoTo(passes_ == Passes::kForward ? layers_ - 1 : 3 * layers_ + 1); }

 private:
  void GoTo(size_t place) {
    for (; next_ <= place; ++next_) Meet(next_);
  }
  // The places are the layers' forward passes, the head, each layer's backward pass and its end,
  // the end.
  void Meet(size_t place);

  const size_t layers_;
  const Passes passes_;
  FsdpShards* const shards_;
  GradientReducer* const reducer_;
  size_t next_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_MICRO_BATCH_COLLECTIVES_H_
