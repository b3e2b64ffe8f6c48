// Tells how far a kernel's result is from the one it is held to.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_DIFFERENCE_TESTING_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_DIFFERENCE_TESTING_H_

#include <torch/types.h>

namespace whetstone {

// Returns the largest absolute difference of two elements, in fp64. Both tensors have the same
// shape.
inline double MaxDifference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kDouble) - b.to(torch::kDouble)).abs().max().item<double>();
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_DIFFERENCE_TESTING_H_
