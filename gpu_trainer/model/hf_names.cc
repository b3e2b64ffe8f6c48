#include "gpu_trainer/model/hf_names.h"

#include "absl/strings/str_cat.h"

namespace whetstone {

std::vector<HfTensor> HfTensors(const ModelConfig& config, const Weights& weights) {
  const int64_t q_rows = config.heads * config.head_dim;
  const int64_t kv_rows = config.kv_heads * config.head_dim;
  std::vector<HfTensor> tensors;
  tensors.push_back({"model.embed_tokens.weight", weights.embed});
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const LayerWeights& layer = weights.layers[i];
    const std::string prefix = absl::StrCat("model.layers.", i, ".");
    auto add = [&](const char* name, torch::Tensor view) {
      tensors.push_back({prefix + name, std::move(view)});
    };
    add("input_layernorm.weight", layer.input_norm);
    add("self_attn.q_proj.weight", layer.qkv.narrow(0, 0, q_rows));
    add("self_attn.k_proj.weight", layer.qkv.narrow(0, q_rows, kv_rows));
    add("self_attn.v_proj.weight", layer.qkv.narrow(0, q_rows + kv_rows, kv_rows));
    if (config.qkv_bias) {
      add("self_attn.q_proj.bias", layer.qkv_bias.narrow(0, 0, q_rows));
      add("self_attn.k_proj.bias", layer.qkv_bias.narrow(0, q_rows, kv_rows));
      add("self_attn.v_proj.bias", layer.qkv_bias.narrow(0, q_rows + kv_rows, kv_rows));
    }
    if (config.qk_norm) {
      add("self_attn.q_norm.weight", layer.q_norm);
      add("self_attn.k_norm.weight", layer.k_norm);
    }
    add("self_attn.o_proj.weight", layer.o);
    add("post_attention_layernorm.weight", layer.post_norm);
    add("mlp.gate_proj.weight", layer.gate_up.narrow(0, 0, config.intermediate));
    add("mlp.up_proj.weight", layer.gate_up.narrow(0, config.intermediate, config.intermediate));
    add("mlp.down_proj.weight", layer.down);
  }
  tensors.push_back({"model.norm.weight", weights.final_norm});
  if (!config.tied) tensors.push_back({"lm_head.weight", weights.lm_head});
  return tensors;
}

}  // namespace whetstone
