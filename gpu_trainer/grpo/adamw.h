// AdamW with fp32 state over weights of any compute type.
//
// The fp32 master is the truth; the weights that compute are its rounded copy. bf16 alone would
// lose most updates: a step of 2e-5 changes 4 % of a 135M model's bf16 weights.
//
//   AdamW optimizer(config, weights);              // masters = weights, moments = 0
//   optimizer.Step(settings, scale, gradients, weights);
//
// Not thread-safe. Memory: 12 bytes a parameter.
#ifndef WHETSTONE_GPU_TRAINER_GRPO_ADAMW_H_
#define WHETSTONE_GPU_TRAINER_GRPO_ADAMW_H_

#include <torch/torch.h>

#include "gpu_trainer/model/weights.h"

namespace whetstone {

struct AdamWSettings {
  double lr = 1e-5;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // matrices only, never norms and biases
};

class AdamW {
 public:
  AdamW(const ModelConfig& config, const Weights& weights);

  // gradients: fp32, like EmptyWeights(config, kFloat); each is multiplied by `gradient_scale`
  // first. Writes the new weights into `weights` in place.
  void Step(const AdamWSettings& settings, double gradient_scale, const Weights& gradients,
            Weights& weights);

  // Forgets moments and step count (a new phase begins), keeps the masters.
  void Reset();

  // The state, for checkpoints. After writing into masters call CopyMastersTo.
  Weights& masters() { return masters_; }
  Weights& moments1() { return moments1_; }
  Weights& moments2() { return moments2_; }
  const Weights& masters() const { return masters_; }
  const Weights& moments1() const { return moments1_; }
  const Weights& moments2() const { return moments2_; }
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }
  void CopyMastersTo(Weights& weights) const;

 private:
  Weights masters_, moments1_, moments2_;
  int64_t steps_ = 0;
};

// Sets all to zero.
void Clear(Weights& tensors);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_GRPO_ADAMW_H_
