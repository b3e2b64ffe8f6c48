#include "gpu_trainer/engine/runner/model_runner.h"

#include "gpu_trainer/engine/runner/cuda_model_runner.h"
#include "gpu_trainer/engine/runner/eager_model_runner.h"
#include "gpu_trainer/kernels/linear.h"

namespace whetstone {

std::unique_ptr<ModelRunner> MakeModelRunner(const ModelConfig& config, const Weights& weights,
                                             const RopeTable& rope,
                                             const ModelRunnerOptions& options) {
  // The kernels for GPUs are not batch-invariant.
  if (!options.batch_invariant || IsBatchInvariant(weights.device(), weights.dtype())) {
    std::unique_ptr<ModelRunner> runner = CudaModelRunner::Make(config, weights, rope, options);
    if (runner != nullptr) return runner;
  }
  return std::make_unique<EagerModelRunner>(config, weights, rope, options);
}

}  // namespace whetstone
