// A ModelRunner is the seam between what is asked of the model and how it is computed: prompts are
// encoded, and all active sequences move on by one step.
//
//   std::unique_ptr<ModelRunner> runner = MakeModelRunner(config, weights, rope, {.slots = 16, …});
//   torch::Tensor logits = runner->Prefill(/*prefix=*/0, prompt);
//   ASSIGN_OR_RETURN(const std::vector<SampledToken> drawn, runner->Step(inputs, on_logits));
//
// There are two implementations: EagerModelRunner goes through model/forward.h operator by
// operator, on any device; CudaModelRunner keeps a step on the GPU, up to the token drawn. Not
// thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_MODEL_RUNNER_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_MODEL_RUNNER_H_

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "gpu_trainer/engine/sampling/token_sampler.h"
#include "gpu_trainer/kernels/sample.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/rope.h"
#include "gpu_trainer/model/weights.h"

namespace whetstone {

// Logits of so many rows exist at one time on the host.
inline constexpr int64_t kLogitRows = 32;

// A DecodeInput is one sequence in a decoding step: its newest token, which enters the KV cache
// only now, and a draft of the tokens behind it. Each is a row.
struct DecodeInput {
  int32_t prefix = 0;
  int32_t slot = 0;
  int64_t prefix_tokens = 0;
  int64_t suffix = 0;               // tokens of its slot before `token`
  int32_t token = 0;                // its newest
  std::vector<int32_t> draft = {};  // empty unless TakesDrafts
  TokenKey next = {};               // the token to be drawn

  int64_t rows() const { return static_cast<int64_t>(draft.size()) + 1; }
  // Returns the position of `token` in the whole sequence.
  int64_t position() const { return prefix_tokens + suffix; }
};

struct ModelRunnerOptions {
  int64_t slots = 0;          // sequences at a time, at least 1
  int64_t suffix_tokens = 0;  // most of a sequence after its prompt
  int64_t prefix_tokens = 0;  // of the longest prompt
  // A row's bits depend on no other row, whatever that costs.
  bool batch_invariant = false;
  // Tokens are drawn from the whole softmax at this temperature (0: greedy), by random numbers of
  // `seed` and `step`; false: every step hands over its logits.
  bool draw = true;
  double temperature = 1;
  uint64_t seed = 0;
  uint64_t step = 0;
  bool graphs = true;  // CUDA graphs, where there is a GPU
};

class ModelRunner {
 public:
  // Logits of inputs [begin, end), their rows one after the other: [rows, V] f32 on the host, valid
  // during the call.
  using LogitsFn = absl::FunctionRef<void(size_t begin, size_t end, const float* logits)>;

  virtual ~ModelRunner() = default;

  // Encodes a prompt and keeps its keys and values as `prefix`. Returns the logits after its last
  // token: [1, V] f32 on the host.
  virtual torch::Tensor Prefill(int32_t prefix, const std::vector<int32_t>& ids) = 0;
  virtual void DropPrefix(int32_t prefix) = 0;

  // Tells whether a step may be given drafts: whether they change no bit.
  virtual bool TakesDrafts() const = 0;

  // Takes one step of 1 to `slots` sequences; those of one prefix must be neighbours. Either
  // returns the token drawn for each of them, or returns none and hands the logits of all of them,
  // in order, to `on_logits`. INTERNAL: the device refused the work.
  virtual absl::StatusOr<std::vector<SampledToken>> Step(const std::vector<DecodeInput>& inputs,
                                                         LogitsFn on_logits) = 0;

  // Returns how many steps were replayed from a CUDA graph.
  virtual int64_t graph_steps() const = 0;
};

// Makes the fastest that serves this model on its device. Borrows config, weights and rope, whose
// table covers every position; weights may change between steps.
std::unique_ptr<ModelRunner> MakeModelRunner(const ModelConfig& config, const Weights& weights,
                                             const RopeTable& rope,
                                             const ModelRunnerOptions& options);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_MODEL_RUNNER_H_
