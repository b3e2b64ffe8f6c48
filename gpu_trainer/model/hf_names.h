// Says which slice of which fused tensor each tensor of a Hugging Face file is.
#ifndef WHETSTONE_GPU_TRAINER_MODEL_HF_NAMES_H_
#define WHETSTONE_GPU_TRAINER_MODEL_HF_NAMES_H_

#include <torch/types.h>

#include <string>
#include <vector>

#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/weights.h"

namespace whetstone {

struct HfTensor {
  std::string name;    // "model.layers.3.self_attn.k_proj.weight"
  torch::Tensor view;  // contiguous rows of the fused tensor; shares its storage
};

// Returns every tensor that transformers saves for this config (a tied head is not saved), in file
// order.
std::vector<HfTensor> HfTensors(const ModelConfig& config, const Weights& weights);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_MODEL_HF_NAMES_H_
