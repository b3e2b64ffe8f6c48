#include "gpu_trainer/checkpoint/adapter_file.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "gpu_trainer/model/safetensors.h"

namespace whetstone {
namespace {

// Returns the module's name in transformers, below PEFT's wrapper.
std::string ModuleName(const Lora::Adapter& adapter) {
  const bool mlp = adapter.matrix == FusedMatrix::kGateUp || adapter.matrix == FusedMatrix::kDown;
  return absl::StrCat("base_model.model.model.layers.", adapter.layer,
                      mlp ? ".mlp." : ".self_attn.", adapter.target);
}

}  // namespace

absl::Status SaveAdapter(const std::string& directory, const Lora& lora,
                         const std::string& base_model) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  std::vector<torch::Tensor> kept;  // It owns the bytes until they are written.
  std::vector<SafetensorsTensor> tensors;
  const auto add = [&](std::string name, const torch::Tensor& tensor) {
    kept.push_back(tensor.detach().to(torch::kCPU).contiguous());
    tensors.push_back({.name = std::move(name),
                       .dtype = "F32",
                       .shape = kept.back().sizes().vec(),
                       .bytes = absl::string_view(static_cast<const char*>(kept.back().data_ptr()),
                                                  static_cast<size_t>(kept.back().nbytes()))});
  };
  for (const Lora::Adapter& adapter : lora.adapters()) {
    add(absl::StrCat(ModuleName(adapter), ".lora_A.weight"), adapter.a);
    add(absl::StrCat(ModuleName(adapter), ".lora_B.weight"), adapter.b);
  }
  RETURN_IF_ERROR(WriteSafetensors(directory + "/adapter_model.safetensors", tensors));
  // Alpha is written as a whole number where it is one, as PEFT itself does.
  const double alpha = lora.settings().alpha;
  const nlohmann::ordered_json alpha_json =
      alpha == std::floor(alpha) ? nlohmann::ordered_json(static_cast<int64_t>(alpha))
                                 : nlohmann::ordered_json(alpha);
  const nlohmann::ordered_json config = {{"peft_type", "LORA"},
                                         {"task_type", "CAUSAL_LM"},
                                         {"base_model_name_or_path", base_model},
                                         {"r", lora.settings().rank},
                                         {"lora_alpha", alpha_json},
                                         {"lora_dropout", 0.0},
                                         {"bias", "none"},
                                         {"fan_in_fan_out", false},
                                         {"inference_mode", true},
                                         {"target_modules", lora.settings().targets}};
  return WriteFileAtomically(directory + "/adapter_config.json", config.dump(2) + "\n");
}

}  // namespace whetstone
