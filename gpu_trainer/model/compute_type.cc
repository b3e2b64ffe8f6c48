#include "gpu_trainer/model/compute_type.h"

#include "absl/strings/str_cat.h"
#include "gpu_trainer/kernels/cpu/cpu.h"

namespace whetstone {

absl::StatusOr<torch::ScalarType> ParseComputeType(absl::string_view name) {
  if (name == "bf16" || name == "bfloat16") return torch::kBFloat16;
  if (name == "fp16" || name == "float16") return torch::kHalf;
  if (name == "fp32" || name == "float32") return torch::kFloat;
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is no compute type; valid: auto, bf16, fp16, fp32"));
}

absl::StatusOr<torch::ScalarType> ChooseComputeType(absl::string_view name, torch::Device device) {
  if (name != "auto") return ParseComputeType(name);
  return device.is_cuda() || MultipliesBf16() ? torch::kBFloat16 : torch::kFloat;
}

const char* ComputeTypeName(torch::ScalarType type) {
  switch (type) {
    case torch::kBFloat16:
      return "bf16";
    case torch::kHalf:
      return "fp16";
    default:
      CHECK(type == torch::kFloat);
      return "fp32";
  }
}

}  // namespace whetstone
