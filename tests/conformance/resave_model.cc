// resave_model IN OUT float32|bfloat16|float16 loads a Hugging Face directory and saves it again,
// for the oracle that compares the two in transformers.
#include <torch/types.h>

#include <cstdio>
#include <string>

#include "common/status_macros.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/model/weights.h"

namespace {

absl::Status Resave(const std::string& in, const std::string& out, const std::string& type) {
  ASSIGN_OR_RETURN(const torch::ScalarType dtype, whetstone::ParseComputeType(type));
  ASSIGN_OR_RETURN(const whetstone::ModelConfig config, whetstone::LoadModelConfig(in));
  ASSIGN_OR_RETURN(const whetstone::Weights weights,
                   whetstone::LoadWeights(in, config, torch::kFloat));
  return whetstone::SaveWeights(out, config, weights, dtype);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const absl::Status status = Resave(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
