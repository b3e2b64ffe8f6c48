#include "gpu_trainer/engine/runner/prefill.h"

#include "gpu_trainer/kernels/linear.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {

torch::Tensor PrefillLogits(const ModelConfig& config, const Weights& weights,
                            const RopeTable& rope, const GenerationWork& work,
                            const std::vector<int32_t>& ids, const AttendFn& attend) {
  torch::NoGradGuard no_grad;
  const int64_t n = static_cast<int64_t>(ids.size());
  const Work whole = work.Prefill(n);
  const PartScope scope(Part::kPrefill, whole.flops, whole.bytes);
  const torch::Tensor hidden =
      Forward(config, weights, torch::tensor(ids, torch::kLong).to(weights.device()),
              rope.cos.narrow(0, 0, n), rope.sin.narrow(0, 0, n), attend);
  return Linear(hidden.narrow(0, n - 1, 1), weights.lm_head).cpu();
}

}  // namespace whetstone
