// These are the compute types by name: what weights are held in and matrix products read.
#ifndef WHETSTONE_GPU_TRAINER_MODEL_COMPUTE_TYPE_H_
#define WHETSTONE_GPU_TRAINER_MODEL_COMPUTE_TYPE_H_

#include <torch/types.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Reads "bf16", "fp16", "fp32", or transformers' "bfloat16", "float16", "float32".
// INVALID_ARGUMENT: another name.
absl::StatusOr<torch::ScalarType> ParseComputeType(absl::string_view name);

// The same, and "auto": bf16, or fp32 on a processor that has no fast products of bf16.
absl::StatusOr<torch::ScalarType> ChooseComputeType(absl::string_view name, torch::Device device);

// Returns "bf16", "fp16" or "fp32". `type` is one of the three.
const char* ComputeTypeName(torch::ScalarType type);

// Returns the type of the residual stream, of sums and gradients: fp32, and fp64 beside weights in
// fp64. No policy is trained in fp64; it is there to tell in tests a different order of sums from a
// mistake.
inline torch::ScalarType WideType(torch::ScalarType compute) {
  return compute == torch::kDouble ? torch::kDouble : torch::kFloat;
}
inline torch::ScalarType WideType(const torch::Tensor& x) { return WideType(x.scalar_type()); }

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_MODEL_COMPUTE_TYPE_H_
