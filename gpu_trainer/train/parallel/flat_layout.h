// Tensors that lie in one piece of memory, so that it can be sent as one.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_FLAT_LAYOUT_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_FLAT_LAYOUT_H_

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace whetstone {

// What tensors of so many numbers take together: each begins where vector instructions like it.
int64_t FlatNumbers(const std::vector<int64_t>& sizes);
int64_t FlatNumbers(const std::vector<torch::Tensor>& tensors);

// Moves them, contiguous and of the type of `memory`, though not what they hold, to its beginning:
// the tensors behind all handles. Returns that part of it. memory: flat.
torch::Tensor LayOut(const torch::Tensor& memory, const std::vector<torch::Tensor>& tensors);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PARALLEL_FLAT_LAYOUT_H_
