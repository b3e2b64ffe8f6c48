// Counts the least work that each part of generation has to do, for profiles
// (profile/step_profile.h).
//
//   const GenerationWork work(config, /*number_bytes=*/2);
//   const Work step = work.DecodeMatmul(8);
//   const PartScope scope(Part::kDecodeMatmul, step.flops, step.bytes);
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_GENERATION_WORK_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_GENERATION_WORK_H_

#include <cstdint>

#include "gpu_trainer/model/config.h"

namespace whetstone {

struct Work {
  double flops = 0;
  double bytes = 0;  // read from memory: weights, keys, values; activations stay in the caches
};

class GenerationWork {
 public:
  // `number_bytes`: of a weight, a key's and a value's number.
  GenerationWork(const ModelConfig& config, int64_t number_bytes);

  // Returns the work of a prompt of `tokens` through all layers, and the logits of its last token.
  Work Prefill(int64_t tokens) const;
  // Returns the work of all linear layers and the head for `rows` tokens at a time: every weight is
  // read once.
  Work DecodeMatmul(int64_t rows) const;
  // Returns the work of one layer's attention: `pairs` of a token and one that it attends to, over
  // the keys and values of `tokens_read` tokens (those of a shared prompt are read once).
  Work LayerAttention(int64_t pairs, int64_t tokens_read) const;

 private:
  const double layers_, layer_parameters_, head_parameters_;
  const double query_width_, key_width_;  // heads * head_dim
  const double number_bytes_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_RUNNER_GENERATION_WORK_H_
