// The decoder's training pass goes forward over packed sequences, and back by hand-written
// gradients.
//
//   DecoderPass pass(config, weights);
//   torch::Tensor hidden = pass.Forward(batch, DecoderPass::Keep::kAll);
//   … HeadLoss(hidden, weights.lm_head, …, &gradient) …
//   pass.Backward(gradient.hidden, gradients);
//
// There is no autograd: a layer keeps its input, qkv, attention output, middle residual and gate_up
// (14 KB a token and layer for SmolLM2-135M) and recomputes norms and SwiGLU, and gradients go
// straight into fp32 accumulators. With Keep::kInputs a layer keeps its input alone (2 KB) and is
// computed once more on the way back: a third more work, the same bits (activation checkpointing;
// Chen et al., arXiv 1604.06174). As in generation the residual stream is fp32; what enters a
// matrix product is rounded to the compute type.
// Not thread-safe. Borrows config and weights. Throws c10::Error.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_PASS_DECODER_PASS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_PASS_DECODER_PASS_H_

#include <torch/types.h>

#include <functional>
#include <vector>

#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/rope.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/train/batch/packing.h"
#include "gpu_trainer/train/optim/lora.h"
#include "gpu_trainer/train/pass/attention.h"
#include "gpu_trainer/train/pass/elementwise_layers.h"
#include "gpu_trainer/train/pass/row_sum.h"

namespace whetstone {

class DecoderPass {
 public:
  DecoderPass(const ModelConfig& config, const Weights& weights);

  // Keep says what Forward keeps for Backward.
  enum class Keep { kNothing, kInputs, kAll };

  // It is called with each layer, if given, as the pass comes to it and when it is done with it.
  using OnLayer = std::function<void(size_t layer)>;

  // Returns the last hidden state after the final norm, [T, C] for the batch's T tokens.
  torch::Tensor Forward(const PackedBatch& batch, Keep keep, const OnLayer& before = nullptr);

  // dhidden [T, C] of any dtype is the gradient of Forward's result. Adds to `gradients` (fp32,
  // shaped like the weights; an undefined tensor: not wanted) and to those of `lora`, if any, and
  // frees what was kept. Goes from the last layer to the first.
  void Backward(const torch::Tensor& dhidden, Weights& gradients, Lora* lora = nullptr,
                const OnLayer& before = nullptr, const OnLayer& complete = nullptr);

  // Frees what was kept for a Backward that will not come: something failed.
  void Forget();

  // Returns the bytes that Forward keeps for each token.
  static int64_t KeptBytesPerToken(const ModelConfig& config, torch::ScalarType dtype, Keep keep);

 private:
  struct Kept {
    torch::Tensor input;  // [T, C] f32
    torch::Tensor input_rstd;
    // [T, (H + 2K) D], rotated; with q/k norm as before it, and Backward norms and rotates again.
    torch::Tensor qkv;
    AttentionResult attention;
    torch::Tensor middle;  // [T, C] f32, after attention
    torch::Tensor middle_rstd;
    torch::Tensor gate_up;  // [T, 2I]
  };

  // Makes of qkv what attention reads: norms q and k (where the family does) and rotates them, in
  // place.
  void NormAndRotate(const LayerWeights& w, torch::Tensor qkv) const;
  // x, dy and both results are the residual stream and its gradient, [T, C] f32.
  torch::Tensor LayerForward(const LayerWeights& w, const torch::Tensor& x, Kept* kept) const;
  torch::Tensor LayerBackward(size_t l, Kept kept, torch::Tensor dy, LayerWeights& gradients,
                              Lora* lora) const;

  const ModelConfig& config_;
  const Weights& weights_;
  const AttentionShape shape_;
  const HeadRange query_heads_, key_heads_;
  RopeTable rope_;  // It grows with the longest sequence seen.
  // These are of the batch in work.
  AttentionPlan plan_;
  RowSum embed_sum_;         // from rows to their tokens
  torch::Tensor positions_;  // [T] i32
  std::vector<Kept> kept_;
  torch::Tensor last_;  // [T, C] f32, before the final norm
  torch::Tensor last_rstd_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_PASS_DECODER_PASS_H_
