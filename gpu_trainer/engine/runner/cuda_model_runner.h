// Decodes without leaving the device: from the newest token of every sequence to the next one, by
// the kernels of kernels/cuda/cuda_kernels.h, without a transfer in between and, on a GPU, replayed
// from a CUDA graph. What it computes is what EagerModelRunner and TokenSampler compute together,
// its reference, up to rounding.
//
// A step computes as many rows as the bucket holds that its rows fall into: powers of two, so that
// a few graphs serve all. Rows beyond the real ones work in a slot of their own.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_CUDA_MODEL_RUNNER_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_CUDA_MODEL_RUNNER_H_

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_trainer/engine/runner/generation_work.h"
#include "gpu_trainer/engine/runner/graph_runner.h"
#include "gpu_trainer/engine/runner/model_runner.h"
#include "gpu_trainer/kernels/cuda/cuda_kernels.h"

namespace whetstone {

class CudaModelRunner final : public ModelRunner {
 public:
  // Borrows config, weights and rope. Null: no kernels serve this model on its device
  // (kernels/cuda/cuda_choice.h), or one of them could not be launched on a trial.
  static std::unique_ptr<CudaModelRunner> Make(const ModelConfig& config, const Weights& weights,
                                               const RopeTable& rope,
                                               const ModelRunnerOptions& options);

  torch::Tensor Prefill(int32_t prefix, const std::vector<int32_t>& ids) override;
  void DropPrefix(int32_t prefix) override { prefixes_.erase(prefix); }
  bool TakesDrafts() const override { return false; }
  // INTERNAL: a kernel could not be launched, though it could on the trial.
  absl::StatusOr<std::vector<SampledToken>> Step(const std::vector<DecodeInput>& inputs,
                                                 LogitsFn on_logits) override;
  int64_t graph_steps() const override { return graph_runner_.replayed(); }

 private:
  struct Prefix {
    torch::Tensor kv;  // [layers, 2, K, capacity, D]
    int64_t tokens = 0;
  };

  CudaModelRunner(const ModelConfig& config, const Weights& weights, const RopeTable& rope,
                  const ModelRunnerOptions& options, const CudaKernels* kernels);

  torch::Tensor AttendPrompt(int32_t prefix, int64_t layer, const torch::Tensor& qkv);
  // Counts linear layers, head and attention.
  Work StepWork(const std::vector<DecodeInput>& inputs) const;
  int64_t Bucket(int64_t rows) const;
  void PrepareMetadata(const std::vector<DecodeInput>& inputs, int64_t bucket);
  bool Compute(int64_t bucket);
  bool Attend(int64_t layer, const torch::Tensor& qkv, const torch::Tensor& out);
  bool Draw(const torch::Tensor& logits);
  std::vector<SampledToken> FetchDrawn(int64_t rows);

  const ModelConfig& config_;
  const Weights& weights_;
  const RopeTable& rope_;
  const ModelRunnerOptions options_;
  const CudaKernels* const kernels_;
  const DecodeShape shape_;
  const int64_t slot_capacity_, splits_max_;
  const GenerationWork work_;
  std::map<int32_t, Prefix> prefixes_;
  torch::Tensor slots_;  // [slots + 1, layers, 2, K, capacity, D]; the last is no sequence's

  // The metadata of a step, which the host writes in one piece: tokens, segments, ids.
  torch::Tensor host_metadata_, metadata_;  // bytes
  DecodeToken* host_tokens_;
  KvSegment* host_segments_;
  int64_t* host_ids_;
  const DecodeToken* tokens_;
  const KvSegment* segments_;
  torch::Tensor ids_;  // [slots] i64, a view of metadata_

  torch::Tensor split_out_, scales_, vocab_blocks_;  // AttendSplitsArgs, SampleArgs
  torch::Tensor results_, host_results_;  // [2, slots] i32: ids, and log-probabilities' bits
  torch::Tensor logits_;                  // [slots, V] f32, where the host draws
  GraphRunner graph_runner_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_CUDA_MODEL_RUNNER_H_
