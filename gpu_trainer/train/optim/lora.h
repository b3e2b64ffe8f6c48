// With low-rank adapters (LoRA; Hu et al., arXiv 2106.09685) not a matrix W is learned, but A [r,
// in] and B [out, r], and W + (alpha / r) B A computes.
//
//   Lora lora(config, weights, {.rank = 16, .alpha = 32, .targets = {"q_proj", "v_proj"}});
//   pass.Backward(dhidden, nothing, &lora);         // sums the gradients of all A and B
//   optimizer.Step(…, lora.gradients());            // made from lora.parameters()
//   lora.Merge();                                   // the weights follow
//
// The merged matrix is what computes, in generation and in the update: the forward pass is that of
// full fine-tuning, and no token comes from a stale or unmerged weight. The gradient needs no
// unmerged pass either: with y = x (W + s B A)^T, dB = s dy^T (x A^T) and dA = s (dy B)^T x.
// The price is a copy of the target matrices, from which each merge starts; nothing accumulates
// rounding.
//
// A starts uniform in ±1/sqrt(in), as in PEFT, B at zero: the first merge changes no bit.
// Not thread-safe. Borrows the weights.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_LORA_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_LORA_H_

#include <torch/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/train/optim/adamw.h"

namespace whetstone {

struct LoraSettings {
  int64_t rank = 0;  // 0: no adapters
  double alpha = 0;
  // They have transformers' names: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj.
  std::vector<std::string> targets;
};

// Returns all targets that a layer has.
std::vector<std::string> LoraTargets(const ModelConfig& config);

// INVALID_ARGUMENT: a target that no layer has (the valid ones are listed), the same one twice,
// none, a rank above the smallest dimension of a target, alpha not above 0.
absl::Status CheckLora(const ModelConfig& config, const LoraSettings& settings);

// LoraNumbers is how many numbers all adapters have, and the matrices that have targets, whose
// values are kept.
struct LoraNumbers {
  int64_t adapters = 0;
  int64_t bases = 0;
};
LoraNumbers NumbersOf(const ModelConfig& config, const LoraSettings& settings);

// These matrices of a layer read one input each and are stored as one (model/weights.h).
enum class FusedMatrix { kQkv, kO, kGateUp, kDown };

class Lora {
 public:
  struct Adapter {
    int64_t layer = 0;
    std::string target;  // "q_proj"
    FusedMatrix matrix = FusedMatrix::kQkv;
    int64_t row = 0;       // The fused matrix's row where the target begins.
    torch::Tensor a, b;    // [r, in], [out, r] f32
    torch::Tensor da, db;  // Their gradients.
  };

  // `settings` must pass CheckLora, with rank > 0.
  Lora(const ModelConfig& config, Weights& weights, const LoraSettings& settings);

  // Adds the gradients of one layer's product y = x W^T: dy [T, out], x [T, in] of the compute
  // type, `out` that of the fused matrix.
  void AddGradient(int64_t layer, FusedMatrix matrix, const torch::Tensor& dy,
                   const torch::Tensor& x);

  // Writes base + scale B A into the weights, rounded once.
  void Merge();

  const LoraSettings& settings() const { return settings_; }
  const std::vector<Adapter>& adapters() const { return adapters_; }
  // The names are "lora.layers.0.q_proj.a", ….b, …, in one order.
  NamedTensors parameters() const;
  NamedTensors gradients() const;
  // Returns all that resuming needs besides the optimizer's state: the parameters, and
  // "base.layers.0.qkv" for every matrix with a target. Writing into them and then Merge restores
  // it.
  NamedTensors State() const;

 private:
  struct Base {
    int64_t layer = 0;
    FusedMatrix matrix = FusedMatrix::kQkv;
    torch::Tensor values;  // What the weight was before any merge.
  };

  Weights& weights_;
  const LoraSettings settings_;
  const double scale_;
  std::vector<Adapter> adapters_;
  std::vector<Base> bases_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_LORA_H_
