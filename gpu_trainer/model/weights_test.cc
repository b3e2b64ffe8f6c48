#include "gpu_trainer/model/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/file.h"
#include "gpu_trainer/model/hf_names.h"
#include "gpu_trainer/model/safetensors.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

ModelConfig Tiny(bool tied, const char* family = "qwen2") {
  const std::string json = std::string(R"({"model_type": ")") + family +
                           R"(", "hidden_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 3, "num_key_value_heads": 1, "intermediate_size": 40, "vocab_size": 50,
    "max_position_embeddings": 64, "torch_dtype": "float32", "tie_word_embeddings": )" +
                           (tied ? "true}" : "false}");
  return *ParseModelConfig(json, "test");
}

class WeightsTest : public ::testing::Test {
 protected:
  WeightsTest() : dir_(*TempDir::Make("weights")) {}
  std::string Message(const ModelConfig& config) {
    const absl::Status checked = CheckWeights(dir_.path(), config).status();
    EXPECT_EQ(LoadWeights(dir_.path(), config, torch::kFloat).status(), checked);
    return std::string(checked.message());
  }
  TempDir dir_;
};

TEST(LayerOfTest, IsInTheName) {
  EXPECT_EQ(LayerOf("layers.0.qkv"), 0);
  EXPECT_EQ(LayerOf("layers.12.input_norm"), 12);
  EXPECT_EQ(LayerOf("lora.layers.3.q_proj.a"), 3);
  EXPECT_EQ(LayerOf("embed"), std::nullopt);
  EXPECT_EQ(LayerOf("final_norm"), std::nullopt);
}

TEST_F(WeightsTest, SaveAndLoadAreExact) {
  for (const bool tied : {false, true}) {
    const ModelConfig config = Tiny(tied);
    const Weights saved = RandomWeights(config, torch::kFloat, 7);
    EXPECT_EQ(saved.lm_head.is_same(saved.embed), tied);
    ASSERT_TRUE(SaveWeights(dir_.path(), config, saved, torch::kFloat).ok());
    auto loaded = LoadWeights(dir_.path(), *LoadModelConfig(dir_.path()), torch::kFloat);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const auto a = saved.Named(), b = loaded->Named();
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(a.size(), tied ? 16u : 17u);
    int64_t numbers = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].first, b[i].first);
      EXPECT_TRUE(torch::equal(a[i].second, b[i].second)) << a[i].first;
      numbers += a[i].second.numel();
    }
    EXPECT_EQ(numbers, config.parameters());
  }
}

TEST_F(WeightsTest, FusedRowsAreQueryKeyValue) {
  const ModelConfig config = Tiny(true);
  const Weights weights = RandomWeights(config, torch::kFloat, 7);
  for (const HfTensor& tensor : HfTensors(config, weights)) {
    if (tensor.name == "model.layers.1.self_attn.v_proj.weight") {
      EXPECT_TRUE(torch::equal(tensor.view, weights.layers[1].qkv.slice(0, 32, 40)));
    }
    if (tensor.name == "model.layers.0.mlp.up_proj.weight") {
      EXPECT_TRUE(torch::equal(tensor.view, weights.layers[0].gate_up.slice(0, 40, 80)));
    }
    EXPECT_TRUE(tensor.view.is_contiguous()) << tensor.name;
  }
}

TEST_F(WeightsTest, Bf16IsRoundedOnceAndNamedInConfig) {
  const ModelConfig config = Tiny(true, "llama");
  const Weights masters = RandomWeights(config, torch::kFloat, 1);
  ASSERT_TRUE(SaveWeights(dir_.path(), config, masters, torch::kBFloat16).ok());
  EXPECT_THAT(*ReadFile(dir_.path() + "/config.json"), HasSubstr("\"torch_dtype\": \"bfloat16\""));
  auto loaded = LoadWeights(dir_.path(), config, torch::kBFloat16);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(torch::equal(loaded->embed, masters.embed.to(torch::kBFloat16)));
}

TEST_F(WeightsTest, DamageIsNamed) {
  const ModelConfig config = Tiny(false);
  EXPECT_THAT(Message(config), HasSubstr("neither model.safetensors nor"));
  const Weights weights = RandomWeights(config, torch::kFloat, 1);
  ASSERT_TRUE(SaveWeights(dir_.path(), config, weights, torch::kFloat).ok());
  EXPECT_EQ(Message(config), "");
  EXPECT_EQ(*CheckWeights(dir_.path(), config), 4 * config.parameters());

  ModelConfig other = config;
  other.intermediate = 41;
  EXPECT_THAT(Message(other), HasSubstr("mlp.gate_proj.weight\": shape [40, 24] in the file"));
  other = config;
  other.layers = 3;
  EXPECT_THAT(Message(other), HasSubstr("layers.2.input_layernorm.weight\" is missing"));
  other.layers = 1;
  EXPECT_THAT(Message(other), HasSubstr("is not part of the architecture"));

  const std::string path = dir_.path() + "/model.safetensors";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THAT(Message(config), HasSubstr("truncated"));
  EXPECT_THAT(Message(config), HasSubstr(path));
}

TEST_F(WeightsTest, Shards) {
  const ModelConfig config = Tiny(false);
  const Weights weights = RandomWeights(config, torch::kFloat, 3);
  std::vector<SafetensorsTensor> first, second;
  std::string map;
  for (const HfTensor& tensor : HfTensors(config, weights)) {
    const bool one = first.size() < 5;
    (one ? first : second)
        .push_back({tensor.name, "F32", tensor.view.sizes().vec(),
                    absl::string_view(static_cast<const char*>(tensor.view.data_ptr()),
                                      tensor.view.nbytes())});
    map += std::string(map.empty() ? "" : ",") + "\"" + tensor.name + "\":\"" +
           (one ? "a.safetensors" : "b.safetensors") + "\"";
  }
  ASSERT_TRUE(WriteSafetensors(dir_.path() + "/a.safetensors", first).ok());
  const std::string index = dir_.path() + "/model.safetensors.index.json";
  ASSERT_TRUE(WriteFileAtomically(index, "{\"weight_map\":{" + map + "}}").ok());
  EXPECT_THAT(Message(config), HasSubstr("b.safetensors"));  // A shard is missing.
  ASSERT_TRUE(WriteSafetensors(dir_.path() + "/b.safetensors", second).ok());
  auto loaded = LoadWeights(dir_.path(), config, torch::kFloat);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(torch::equal(loaded->lm_head, weights.lm_head));
  ASSERT_TRUE(WriteFileAtomically(index, R"({"weight_map":{"x":"../a.safetensors"}})").ok());
  EXPECT_THAT(Message(config), HasSubstr("names no file of this directory"));
}

}  // namespace
}  // namespace whetstone
