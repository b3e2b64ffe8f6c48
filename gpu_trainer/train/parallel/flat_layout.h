// Lays tensors in one piece of memory, so that it can be sent as one.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_FLAT_LAYOUT_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_FLAT_LAYOUT_H_

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace whetstone {

// Returns how many numbers tensors of these sizes take together: each begins where vector
// instructions like it.
int64_t FlatNumbers(const std::vector<int64_t>& sizes);
int64_t FlatNumbers(const std::vector<torch::Tensor>& tensors);

// Moves the tensors behind all handles to the beginning of `memory`, but not what they hold.
// `memory` is flat; the tensors are contiguous and of its type. Returns as much of it as they take.
torch::Tensor MoveInto(const torch::Tensor& memory, const std::vector<torch::Tensor>& tensors);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_FLAT_LAYOUT_H_
