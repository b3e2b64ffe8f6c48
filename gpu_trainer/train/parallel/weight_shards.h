// The layers' weights of ranks that share them out while they learn (ZeRO-3; FSDP, Zhao et al.,
// arXiv 2304.11277). Between updates every rank has them all, to generate with.
//
//   WeightShards shards(weights, ranks);    // once: nothing moves yet
//   RETURN_IF_ERROR(shards.Share());        // each rank keeps its slices
//   shards.Need(0, 1); … layer 0 … ; shards.Need(1, 2); … layer 1 …
//   … an optimizer steps shards.mine() …
//   shards.Stepped();
//   RETURN_IF_ERROR(shards.Gather());       // all there again, at other addresses
//
// While they are shared, there is memory for one layer, in which the layers take turns, and for two
// on the way. What belongs to no layer, the embedding say, stays whole.
//
// For one thread; borrows both. All ranks make the same calls in the same order.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_WEIGHT_SHARDS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_WEIGHT_SHARDS_H_

#include <torch/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/train/optim/adamw.h"
#include "gpu_trainer/train/optim/shard_plan.h"

namespace whetstone {

class WeightShards {
 public:
  WeightShards(const Weights& weights, RankGroup& ranks);

  // This rank's slices (shard_plan.h) of weights.Named(), flat, in its order: always the same
  // tensor objects, wherever they lie.
  const NamedTensors& mine() const { return mine_; }
  // Whether weight i belongs to a layer.
  bool TakesTurns(size_t i) const { return LayerOf(named_[i].first).has_value(); }

  // Keeps the slices alone and frees the rest. An error, on all ranks (RankGroup::Together), when
  // one has no memory for it: nothing has moved.
  absl::Status Share();
  // While they are shared: layer `layer` is there until the next is needed, and `next`, if any, on
  // its way. What goes wrong is told by status: the layer then holds anything. Allocates nothing.
  void Need(size_t layer, std::optional<size_t> next);
  // The slices are new.
  void Stepped() { resident_.reset(); }
  absl::Status status() const { return status_; }
  // Whole again. After an error of this or of status the layers hold anything, and the group of
  // ranks is broken. Memory that runs out here ends the process: half of the weights would be
  // nowhere.
  absl::Status Gather() noexcept;

 private:
  struct Layer {
    std::vector<size_t> indices;         // in named_
    std::vector<torch::Tensor> tensors;  // they
    int64_t row = 0;                     // numbers of the rank that has most
  };
  struct OnTheWay {
    size_t layer = 0;
    torch::Tensor rows;  // [ranks, row]: each rank's slices, one after another
    RankGroup::Finish finish;
  };

  Slice SliceOfRank(size_t index, int rank) const;
  OnTheWay Start(size_t layer);
  // Waits, and writes the layer to where its tensors are.
  void Finish(const OnTheWay& sent);

  RankGroup& ranks_;
  const NamedTensors named_;
  std::vector<Layer> layers_;
  NamedTensors mine_;
  // While they are shared:
  std::array<torch::Tensor, 2> ways_;  // memory for what is on the way, by turns
  size_t started_ = 0;                 // of those
  std::optional<size_t> resident_;     // the layer that is there
  std::optional<OnTheWay> next_;
  absl::Status status_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_WEIGHT_SHARDS_H_
