// Writes adapters in PEFT's format, which `peft.PeftModel.from_pretrained(base, DIRECTORY)` loads.
//
//   DIRECTORY/adapter_config.json
//   DIRECTORY/adapter_model.safetensors    F32, base_model.model.model.layers.0.self_attn.q_proj.…
#ifndef WHETSTONE_GPU_TRAINER_CHECKPOINT_ADAPTER_FILE_H_
#define WHETSTONE_GPU_TRAINER_CHECKPOINT_ADAPTER_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "gpu_trainer/train/optim/lora.h"

namespace whetstone {

// `base_model` says where the weights are that the adapters belong to (base_model_name_or_path).
// RESOURCE_EXHAUSTED: disk full.
absl::Status SaveAdapter(const std::string& directory, const Lora& lora,
                         const std::string& base_model);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CHECKPOINT_ADAPTER_FILE_H_
