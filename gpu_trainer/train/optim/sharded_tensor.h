// A ShardedTensor is a tensor of which each rank may hold only a slice.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_SHARDED_TENSOR_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_SHARDED_TENSOR_H_

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu_trainer/train/optim/shard_plan.h"

namespace whetstone {

struct ShardedTensor {
  std::string name;
  std::vector<int64_t> shape;  // Of the whole tensor.
  // These are this rank's numbers, flat: a handle that shares storage with what it names.
  torch::Tensor mine;
  // It has the slice of the whole that each rank holds; a single one: every rank holds all.
  std::vector<Slice> slices;

  bool whole() const { return slices.size() == 1; }
  const Slice& slice_of(int rank) const { return slices[whole() ? 0 : static_cast<size_t>(rank)]; }
};

// Returns a contiguous tensor as one that every rank holds.
inline ShardedTensor WholeTensor(std::string name, const torch::Tensor& tensor) {
  return {.name = std::move(name),
          .shape = tensor.sizes().vec(),
          .mine = tensor.view({-1}),
          .slices = {{.begin = 0, .end = tensor.numel()}}};
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_SHARDED_TENSOR_H_
