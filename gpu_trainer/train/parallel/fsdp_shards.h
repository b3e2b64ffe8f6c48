// The layers' weights are shards while the ranks learn (FSDP, Zhao et al., arXiv 2304.11277;
// ZeRO-3). Between updates every rank has all weights, to generate with.
//
//   FsdpShards shards(weights, ranks);      // once: nothing moves yet
//   RETURN_IF_ERROR(shards.Shard());        // each rank keeps its slices
//   shards.GatherLayer(0, 1); … layer 0 … ; shards.GatherLayer(1, 2); … layer 1 …
//   … an optimizer steps shards.mine() …
//   shards.Stepped();
//   RETURN_IF_ERROR(shards.Unshard());      // all there again, at other addresses
//
// While they are sharded, there is memory for one layer, in which the layers take turns, and for
// two on the way. What belongs to no layer, the embedding say, stays whole.
//
// It serves one thread. Borrows weights and ranks. All ranks make the same calls in the same order.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_FSDP_SHARDS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_FSDP_SHARDS_H_

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

class FsdpShards {
 public:
  FsdpShards(const Weights& weights, RankGroup& ranks);

  // Returns this rank's slices (shard_plan.h) of weights.Named(), flat, in its order: always the
  // same tensor objects, wherever they lie.
  const NamedTensors& mine() const { return mine_; }
  // Tells whether weight i belongs to a layer.
  bool TakesTurns(size_t i) const { return LayerOf(named_[i].first).has_value(); }

  // Keeps the slices alone and frees the rest. An error, on all ranks (RankGroup::StatusBarrier),
  // when one has no memory for it: nothing has moved.
  absl::Status Shard();
  // While they are sharded: layer `layer` is there until the next is asked for, and `next`, if any,
  // is on its way. What goes wrong is told by status: the layer then holds anything. Allocates
  // nothing.
  void GatherLayer(size_t layer, std::optional<size_t> next);
  // Takes note that the slices are new.
  void Stepped() { resident_.reset(); }
  absl::Status status() const { return status_; }
  // Makes the weights whole again. After an error of this or of status the layers hold anything,
  // and the group of ranks is broken. Memory that runs out here ends the process: half of the
  // weights would be nowhere.
  absl::Status Unshard() noexcept;

 private:
  struct Layer {
    std::vector<size_t> indices;         // The layer's weights in named_ …
    std::vector<torch::Tensor> tensors;  // … and themselves.
    int64_t row = 0;                     // Numbers of the rank that has most of them.
  };
  // A Pending is a layer whose all-gather was started and is not finished.
  struct Pending {
    size_t layer = 0;
    torch::Tensor rows;  // [ranks, row]: each rank's slices, one after another
    RankGroup::Finish finish;
  };

  Slice SliceOfRank(size_t index, int rank) const;
  Pending Start(size_t layer);
  // Waits, and writes the layer to where its tensors are.
  void Finish(const Pending& pending);

  RankGroup& ranks_;
  const NamedTensors named_;
  std::vector<Layer> layers_;
  NamedTensors mine_;
  // These serve while they are sharded:
  std::array<torch::Tensor, 2> gather_memory_;  // What is on the way takes turns in it.
  size_t started_ = 0;                          // All-gathers so far.
  std::optional<size_t> resident_;              // The layer that is there.
  std::optional<Pending> next_;
  absl::Status status_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_FSDP_SHARDS_H_
