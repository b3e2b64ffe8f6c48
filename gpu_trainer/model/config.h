// ModelConfig is the shape of a decoder: what config.json of a Hugging Face directory says.
//
//   ASSIGN_OR_RETURN(ModelConfig config, LoadModelConfig("models/SmolLM2-135M-Instruct"));
//
// The families are Llama (SmolLM2 too), Qwen2 and 2.5 (a Llama with a bias on q, k and v) and Qwen3
// (a Llama whose query and key heads are normalised). Files are written by transformers 4
// (`rope_theta`, `rope_scaling`, `torch_dtype`) or 5 (`rope_parameters`, `dtype`). A field whose
// value this trainer can not compute (another activation, sliding windows, other biases) is an
// error, never ignored.
#ifndef WHETSTONE_GPU_TRAINER_MODEL_CONFIG_H_
#define WHETSTONE_GPU_TRAINER_MODEL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

enum class ModelFamily { kLlama, kQwen2, kQwen3 };

// Returns config.json's model_type.
const char* NameOf(ModelFamily family);

// RopeScaling has Llama 3.1's stretched rotary frequencies (transformers: rope_type "llama3").
struct RopeScaling {
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  int64_t original_context = 0;
};

// ModelConfig is a plain value. In the shapes of this trainer's comments: L layers, C hidden, H
// heads, K kv_heads, D head_dim, I intermediate, V vocab.
struct ModelConfig {
  ModelFamily family = ModelFamily::kLlama;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;  // divides heads
  int64_t head_dim = 0;  // even
  int64_t intermediate = 0;
  int64_t vocab = 0;    // rows of the embedding; may exceed the tokenizer's tokens
  int64_t context = 0;  // positions
  double rms_eps = 1e-6;
  double rope_theta = 10000;
  std::optional<RopeScaling> rope_scaling;
  bool tied = false;      // lm_head is the embedding
  bool qkv_bias = false;  // Qwen2
  bool qk_norm = false;   // Qwen3: every query and key head has its own RMS norm before rotation
  std::optional<int32_t> bos_id;
  std::optional<int32_t> pad_id;
  // These tokens end a completion: config.json's and generation_config.json's, without duplicates.
  std::vector<int32_t> eos_ids;
  // It is config.json verbatim; saving writes it back with the new dtype.
  std::string json;

  int64_t qkv_rows() const { return (heads + 2 * kv_heads) * head_dim; }
  // Returns how many numbers are learned; a tied head counts once.
  int64_t parameters() const;
};

// `where` names the file in errors. INVALID_ARGUMENT: not JSON, missing key, unsupported value.
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view json, const std::string& where);

// Reads DIRECTORY/config.json and, where present, generation_config.json (its eos ids).
absl::StatusOr<ModelConfig> LoadModelConfig(const std::string& directory);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_MODEL_CONFIG_H_
