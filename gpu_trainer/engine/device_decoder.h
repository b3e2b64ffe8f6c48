// A decoding step that stays on the device: from the newest token of every sequence to the next
// one, by the kernels of kernels/cuda/cuda_kernels.h, without a transfer in between and, on a GPU,
// replayed from a CUDA graph. What it computes is what model/forward.h, kv_cache.h and
// kernels/sample.h compute together, its plain twin, up to rounding.
//
//   auto decoder = DeviceDecoder::Make(config, weights, rope, {.slots = 16, …});   // or null
//   Forward(…, [&](int64_t layer, const torch::Tensor& qkv) {                       // the prompt
//     return decoder->Prefill(prefix, layer, qkv); });
//   RETURN_IF_ERROR(decoder->Step(rows));
//   … decoder->drawn()[i], or decoder->logits()[i]
//
// A step computes as many rows as the bucket holds that its rows fall into: powers of two, so that
// a few graphs serve all. Rows beyond the real ones work in a slot of their own. Not thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_DEVICE_DECODER_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_DEVICE_DECODER_H_

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "gpu_trainer/engine/graph_runner.h"
#include "gpu_trainer/kernels/cuda/cuda_kernels.h"
#include "gpu_trainer/kernels/sample.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/rope.h"
#include "gpu_trainer/model/weights.h"

namespace whetstone {

struct DeviceDecoderOptions {
  int64_t slots = 0;          // sequences at a time, at least 1
  int64_t suffix_tokens = 0;  // most of a sequence after its prompt
  int64_t prefix_tokens = 0;  // of the longest prompt
  // Draw on the device. False: logits() is what comes out of a step.
  bool sample = true;
  double temperature = 1;  // 0: greedy
  uint64_t seed = 0;       // of the random numbers, with `step`, as in engine.h
  uint64_t step = 0;
  bool graphs = true;
};

// A sequence in a step.
struct DeviceRow {
  int32_t prefix = 0;
  int32_t slot = 0;
  int64_t suffix = 0;    // tokens of its slot before this one
  int64_t position = 0;  // of this token in the whole sequence
  int32_t token = 0;     // its newest
  int32_t problem = 0;   // with `sample` and `draw`: the stream of its random number
  int32_t sample = 0;
  uint64_t draw = 0;
};

class DeviceDecoder {
 public:
  // Borrows config, weights and rope. Null: no kernels serve this model on its device (ops/cuda_
  // choice.h), or one of them could not be launched on a trial; then the plain twin must do.
  static std::unique_ptr<DeviceDecoder> Make(const ModelConfig& config, const Weights& weights,
                                             const RopeTable& rope,
                                             const DeviceDecoderOptions& options);

  // As KvCache's.
  torch::Tensor Prefill(int32_t prefix, int64_t layer, const torch::Tensor& qkv);
  void DropPrefix(int32_t prefix) { prefixes_.erase(prefix); }

  // 1 to `slots` rows; those of one prefix must be neighbours. INTERNAL: a kernel could not be
  // launched, though it could on the trial.
  absl::Status Step(const std::vector<DeviceRow>& rows);

  // Of the last step's rows. With `sample` only.
  const std::vector<SampledToken>& drawn() const { return drawn_; }
  // Without `sample` only: [rows or more, V] f32 on the device.
  const torch::Tensor& logits() const { return logits_; }

  // Steps that were replayed from a graph.
  int64_t graph_steps() const { return runner_.replayed(); }

 private:
  struct Prefix {
    torch::Tensor kv;  // [layers, 2, K, capacity, D]
    int64_t tokens = 0;
  };

  DeviceDecoder(const ModelConfig& config, const Weights& weights, const RopeTable& rope,
                const DeviceDecoderOptions& options, const CudaKernels* kernels);

  int64_t Bucket(int64_t rows) const;
  void Describe(const std::vector<DeviceRow>& rows, int64_t bucket);
  bool Compute(int64_t bucket);
  bool Attend(int64_t layer, const torch::Tensor& qkv, const torch::Tensor& out);
  bool Draw(const torch::Tensor& logits);

  const ModelConfig& config_;
  const Weights& weights_;
  const RopeTable& rope_;
  const DeviceDecoderOptions options_;
  const CudaKernels* const kernels_;
  const DecodeShape shape_;
  const int64_t slot_capacity_, parts_max_;
  std::map<int32_t, Prefix> prefixes_;
  torch::Tensor slots_;  // [slots + 1, layers, 2, K, capacity, D]; the last is no sequence's

  // What a step reads, written by the host in one piece: tokens, segments, ids.
  torch::Tensor host_, device_;  // bytes
  DecodeToken* host_tokens_;
  KvSegment* host_segments_;
  int64_t* host_ids_;
  const DecodeToken* tokens_;
  const KvSegment* segments_;
  torch::Tensor ids_;  // [slots] i64, a view of device_

  torch::Tensor parts_, scales_, stretches_;  // AttendPartsArgs, SampleArgs
  torch::Tensor results_, host_results_;      // [2, slots] i32: ids, and log-probabilities' bits
  torch::Tensor logits_;
  std::vector<SampledToken> drawn_;
  GraphRunner runner_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_DEVICE_DECODER_H_
