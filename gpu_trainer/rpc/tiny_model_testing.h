// Tests use a random model of three layers that talks with the tokenizer and chat template of the
// real one.
#ifndef WHETSTONE_GPU_TRAINER_RPC_TINY_MODEL_TESTING_H_
#define WHETSTONE_GPU_TRAINER_RPC_TINY_MODEL_TESTING_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/weights.h"

namespace whetstone {

// deploy/setup.sh provides the small model; WHETSTONE_MODEL may name another folder with its
// tokenizer.
inline std::string RealModel() {
  if (const char* const named = getenv("WHETSTONE_MODEL")) return named;
  return std::string(getenv("HOME")) + "/.cache/whetstone/models/SmolLM2-135M-Instruct";
}

// Writes the tiny one into `directory`, which must not exist.
inline void WriteTinyModel(const std::string& directory) {
  namespace fs = std::filesystem;
  ASSERT_TRUE(fs::exists(RealModel() + "/tokenizer.json"))
      << RealModel() << " is missing: run deploy/setup.sh, which provides the model";
  absl::StatusOr<ModelConfig> config = ParseModelConfig(R"({
      "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
      "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 49152,
      "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
      "eos_token_id": 2, "tie_word_embeddings": true, "torch_dtype": "bfloat16"})",
                                                        "test");
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_TRUE(
      SaveWeights(directory, *config, RandomWeights(*config, torch::kFloat, 3), torch::kBFloat16)
          .ok());
  for (const auto& entry : fs::directory_iterator(RealModel())) {
    const std::string name = entry.path().filename();
    if (name.find("token") != std::string::npos || name.find("chat") != std::string::npos) {
      fs::copy(entry.path(), directory + "/" + name);
    }
  }
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_TINY_MODEL_TESTING_H_
