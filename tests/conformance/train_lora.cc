// train_lora IN OUT TARGET… teaches adapters of rank 4 on the named matrices a few examples and
// saves a checkpoint, for the oracle that loads OUT/adapter in PEFT.
#include <torch/types.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/status_macros.h"
#include "gpu_trainer/checkpoint/checkpoint.h"

namespace {

absl::Status Train(const std::string& in, const std::string& out,
                   const std::vector<std::string>& targets) {
  ASSIGN_OR_RETURN(const std::unique_ptr<whetstone::Policy> policy,
                   whetstone::LoadPolicy(in, torch::kFloat, torch::kCPU,
                                         {.lora = {.rank = 4, .alpha = 6, .targets = targets}}));
  whetstone::StepSettings settings;
  settings.adamw.lr = 1e-2;
  for (int step = 0; step < 5; ++step) {
    RETURN_IF_ERROR(policy->learner()
                        .Supervised({{.ids = {5, 6, 7, 8, 9, 10}, .learn_from = 2},
                                     {.ids = {11, 12, 13, 14}, .learn_from = 1}},
                                    settings)
                        .status());
  }
  return whetstone::SaveCheckpoint(*policy, out).status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const absl::Status status = Train(argv[1], argv[2], {argv + 3, argv + argc});
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
