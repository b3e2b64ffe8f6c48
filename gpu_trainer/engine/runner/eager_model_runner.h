// Decodes through model/forward.h and a KvCache, operator by operator: on CPUs, and on GPUs where
// CudaModelRunner does not serve.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_EAGER_MODEL_RUNNER_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_EAGER_MODEL_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_trainer/engine/cache/kv_cache.h"
#include "gpu_trainer/engine/runner/generation_work.h"
#include "gpu_trainer/engine/runner/model_runner.h"

namespace whetstone {

// Every forward pass of a batch-invariant run has so many rows, where their number changes a row's
// bits.
inline constexpr int64_t kBatchInvariantRows = 32;

class EagerModelRunner final : public ModelRunner {
 public:
  EagerModelRunner(const ModelConfig& config, const Weights& weights, const RopeTable& rope,
                   const ModelRunnerOptions& options);

  torch::Tensor Prefill(int32_t prefix, const std::vector<int32_t>& ids) override;
  void DropPrefix(int32_t prefix) override { cache_->DropPrefix(prefix); }
  // Where a row's bits depend on the rows beside it, a draft's rows would change them.
  bool TakesDrafts() const override { return kernels_are_batch_invariant_; }
  // Always hands over logits.
  absl::StatusOr<std::vector<SampledToken>> Step(const std::vector<DecodeInput>& inputs,
                                                 LogitsFn on_logits) override;
  int64_t graph_steps() const override { return 0; }

 private:
  void DecodePass(const std::vector<DecodeInput>& inputs, size_t begin, size_t end,
                  LogitsFn on_logits);

  const ModelConfig& config_;
  const Weights& weights_;
  const RopeTable& rope_;
  const bool kernels_are_batch_invariant_;
  // Every forward pass is padded to kBatchInvariantRows rows.
  const bool padded_;
  const GenerationWork work_;
  const std::unique_ptr<KvCache> cache_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_EAGER_MODEL_RUNNER_H_
