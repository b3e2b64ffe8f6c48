#include "gpu_trainer/model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "common/file.h"

namespace whetstone {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json Llama() {
  return json::parse(R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100,
    "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "eos_token_id": [2, 3],
    "bos_token_id": 1, "hidden_act": "silu", "tie_word_embeddings": true})");
}

TEST(ModelConfigTest, Transformers4) {
  json root = Llama();
  root["rope_theta"] = 5000.0;
  root["torch_dtype"] = "bfloat16";
  auto config = ParseModelConfig(root.dump(), "config.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->family, ModelFamily::kLlama);
  EXPECT_EQ(config->head_dim, 16);
  EXPECT_EQ(config->rope_theta, 5000.0);
  EXPECT_FALSE(config->rope_scaling.has_value());
  EXPECT_TRUE(config->tied);
  EXPECT_FALSE(config->qkv_bias);
  EXPECT_THAT(config->eos_ids, ElementsAre(2, 3));
  EXPECT_EQ(config->bos_id, 1);
  EXPECT_EQ(config->qkv_rows(), 128);
  EXPECT_EQ(config->parameters(), 2 * (128 + 128 * 64 + 64 * 64 + 3 * 64 * 96) + 64 + 6400);
}

TEST(ModelConfigTest, Transformers5) {
  json root = Llama();
  root["model_type"] = "qwen2";
  root["dtype"] = "float32";
  root["head_dim"] = 32;
  root["rope_parameters"] = {{"rope_type", "llama3"},   {"rope_theta", 7000.0},
                             {"factor", 8.0},           {"low_freq_factor", 1.0},
                             {"high_freq_factor", 4.0}, {"original_max_position_embeddings", 64}};
  auto config = ParseModelConfig(root.dump(), "config.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->family, ModelFamily::kQwen2);
  EXPECT_TRUE(config->qkv_bias);
  EXPECT_EQ(config->head_dim, 32);
  EXPECT_EQ(config->rope_theta, 7000.0);
  ASSERT_TRUE(config->rope_scaling.has_value());
  EXPECT_EQ(config->rope_scaling->factor, 8.0);
  EXPECT_EQ(config->rope_scaling->original_context, 64);
}

TEST(ModelConfigTest, Qwen3HasItsOwnHeadDim) {
  json root = Llama();
  root["model_type"] = "qwen3";
  auto config = ParseModelConfig(root.dump(), "config.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->qk_norm);
  EXPECT_FALSE(config->qkv_bias);
  EXPECT_EQ(config->head_dim, 128);
  EXPECT_EQ(config->parameters(),
            2 * (128 + 2 * 128 + 1024 * 64 + 64 * 512 + 3 * 64 * 96) + 64 + 6400);
  root["head_dim"] = 24;
  EXPECT_EQ(ParseModelConfig(root.dump(), "config.json")->head_dim, 24);
  root["attention_bias"] = true;
  EXPECT_THAT(std::string(ParseModelConfig(root.dump(), "config.json").status().message()),
              HasSubstr("attention_bias"));
}

// Qwen2.5's files mention a window that is off; only one that would hide something is refused.
TEST(ModelConfigTest, SlidingWindowsThatMatterAreRefused) {
  json root = Llama();  // It has 2 layers and a context of 128.
  root["model_type"] = "qwen2";
  root["sliding_window"] = 64;
  root["use_sliding_window"] = false;
  root["max_window_layers"] = 0;
  EXPECT_TRUE(ParseModelConfig(root.dump(), "config.json").ok());
  root["use_sliding_window"] = true;
  EXPECT_THAT(std::string(ParseModelConfig(root.dump(), "config.json").status().message()),
              HasSubstr("sliding window of 64 positions"));
  root["max_window_layers"] = 2;
  EXPECT_TRUE(ParseModelConfig(root.dump(), "config.json").ok());
  root["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_FALSE(ParseModelConfig(root.dump(), "config.json").ok());
  root["sliding_window"] = 128;
  EXPECT_TRUE(ParseModelConfig(root.dump(), "config.json").ok());
}

TEST(ModelConfigTest, ErrorsNameFileAndKey) {
  const std::vector<std::tuple<std::string, json, std::string>> cases = {
      {"model_type", "mamba", "supported architectures: llama, qwen2, qwen3"},
      {"hidden_size", nullptr, "\"hidden_size\" is missing"},
      {"num_hidden_layers", -1, "num_hidden_layers is -1"},
      {"vocab_size", "many", "vocab_size is \"many\""},
      {"num_key_value_heads", 3, "not a multiple"},
      {"hidden_act", "gelu", "hidden_act \"gelu\""},
      {"attention_bias", true, "attention_bias"},
      {"mlp_bias", true, "mlp_bias"},
      {"model_type", "qwen3_moe", "\"qwen3_moe\" is not supported"},
      {"quantization_config", json::object(), "unquantized"},
      {"rope_scaling", {{"type", "yarn"}}, "rope_type \"yarn\""},
      {"rope_parameters",
       {{"full_attention", json::object()}},
       "own parameters for full_attention"},
      {"rope_parameters", {{"partial_rotary_factor", 0.5}}, "partial_rotary_factor"},
      {"partial_rotary_factor", 0.25, "partial_rotary_factor"},
      {"rope_scaling", {{"rope_type", "llama3"}}, "original_max_position_embeddings"},
      {"head_dim", 15, "odd"},
      {"eos_token_id", "x", "no token id"},
  };
  for (const auto& [key, value, message] : cases) {
    json root = Llama();
    root[key] = value;
    const auto config = ParseModelConfig(root.dump(), "dir/config.json");
    ASSERT_FALSE(config.ok()) << key;
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << key;
    EXPECT_THAT(std::string(config.status().message()), HasSubstr(message)) << key;
    EXPECT_THAT(std::string(config.status().message()), HasSubstr("dir/config.json")) << key;
  }
  EXPECT_FALSE(ParseModelConfig("{", "x").ok());
  EXPECT_FALSE(ParseModelConfig("", "x").ok());
  EXPECT_FALSE(ParseModelConfig("[]", "x").ok());
}

TEST(ModelConfigTest, GenerationConfigAddsEos) {
  auto dir = TempDir::Make("config");
  ASSERT_TRUE(dir.ok());
  EXPECT_THAT(std::string(LoadModelConfig(dir->path()).status().message()),
              HasSubstr("config.json"));
  ASSERT_TRUE(WriteFileAtomically(dir->path() + "/config.json", Llama().dump()).ok());
  EXPECT_THAT(LoadModelConfig(dir->path())->eos_ids, ElementsAre(2, 3));
  ASSERT_TRUE(
      WriteFileAtomically(dir->path() + "/generation_config.json", R"({"eos_token_id":[3,9]})")
          .ok());
  EXPECT_THAT(LoadModelConfig(dir->path())->eos_ids, ElementsAre(2, 3, 9));
  ASSERT_TRUE(WriteFileAtomically(dir->path() + "/generation_config.json", "{").ok());
  EXPECT_THAT(std::string(LoadModelConfig(dir->path()).status().message()),
              HasSubstr("generation_config.json"));
}

}  // namespace
}  // namespace whetstone
