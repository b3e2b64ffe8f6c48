#include "gpu_trainer/model/config.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

using nlohmann::json;

// Reads typed values and remembers the first complaint, so that parsing stays a plain list.
class Reader {
 public:
  Reader(const json& object, const std::string& where) : object_(object), where_(where) {}

  bool Has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }

  int64_t Positive(const char* key) {
    if (!Has(key)) return Missing(key), 1;
    const json& value = object_[key];
    if (!value.is_number_integer() || value.get<int64_t>() < 1 ||
        value.get<int64_t>() > (int64_t{1} << 31)) {
      return Fail(absl::StrCat(key, " is ", value.dump(), "; a positive integer is needed")), 1;
    }
    return value.get<int64_t>();
  }
  int64_t PositiveOr(const char* key, int64_t otherwise) {
    return Has(key) ? Positive(key) : otherwise;
  }
  double NumberOr(const char* key, double otherwise) {
    if (!Has(key)) return otherwise;
    if (!object_[key].is_number() || object_[key].get<double>() <= 0) {
      Fail(absl::StrCat(key, " is ", object_[key].dump(), "; a positive number is needed"));
      return otherwise;
    }
    return object_[key].get<double>();
  }
  bool FlagOr(const char* key, bool otherwise) {
    if (!Has(key)) return otherwise;
    if (!object_[key].is_boolean()) {
      Fail(absl::StrCat(key, " is ", object_[key].dump(), "; true or false is needed"));
      return otherwise;
    }
    return object_[key].get<bool>();
  }
  std::string TextOr(const char* key, const std::string& otherwise) {
    if (!Has(key)) return otherwise;
    if (!object_[key].is_string()) {
      Fail(absl::StrCat(key, " is ", object_[key].dump(), "; a string is needed"));
      return otherwise;
    }
    return object_[key].get<std::string>();
  }
  // Reads one token id or a list of them.
  std::vector<int32_t> Ids(const char* key) {
    std::vector<int32_t> ids;
    if (!Has(key)) return ids;
    const json list = object_[key].is_array() ? object_[key] : json::array({object_[key]});
    for (const json& id : list) {
      if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > INT32_MAX) {
        // Some exports write -1 for "none".
        if (id.is_number_integer() && id.get<int64_t>() == -1) continue;
        Fail(absl::StrCat(key, " holds ", id.dump(), ", which is no token id"));
        return {};
      }
      ids.push_back(id.get<int32_t>());
    }
    return ids;
  }
  void Fail(absl::string_view what) {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat(where_, ": ", what));
    }
  }
  const absl::Status& status() const { return status_; }

 private:
  void Missing(const char* key) { Fail(absl::StrCat("the key \"", key, "\" is missing")); }
  const json& object_;
  std::string where_;
  absl::Status status_;
};

std::optional<int32_t> FirstOf(const std::vector<int32_t>& ids) {
  if (ids.empty()) return std::nullopt;
  return ids.front();
}

void AddIds(const std::vector<int32_t>& more, std::vector<int32_t>* ids) {
  for (const int32_t id : more) {
    if (std::find(ids->begin(), ids->end(), id) == ids->end()) ids->push_back(id);
  }
}

// Reads rope_theta and scaling: `rope_parameters` (transformers 5) holds both; transformers 4 has
// `rope_theta` at the top and `rope_scaling` beside it.
absl::Status ParseRope(const json& root, const std::string& where, ModelConfig* config) {
  Reader top(root, where);
  config->rope_theta = top.NumberOr("rope_theta", 10000);
  const char* key = top.Has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!top.Has(key)) return top.status();
  if (!root[key].is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", key, " is not an object"));
  }
  Reader rope(root[key], absl::StrCat(where, ": ", key));
  for (const auto& [name, value] : root[key].items()) {
    if (value.is_object()) {
      rope.Fail(absl::StrCat("own parameters for ", name, " layers are not supported"));
    }
  }
  if (rope.NumberOr("partial_rotary_factor", 1) != 1) {
    rope.Fail("partial_rotary_factor other than 1 is not supported");
  }
  config->rope_theta = rope.NumberOr("rope_theta", config->rope_theta);
  const std::string type = rope.TextOr("rope_type", rope.TextOr("type", "default"));
  if (type == "llama3") {
    RopeScaling scaling;
    scaling.factor = rope.NumberOr("factor", 1);
    scaling.low_freq_factor = rope.NumberOr("low_freq_factor", 1);
    scaling.high_freq_factor = rope.NumberOr("high_freq_factor", 4);
    scaling.original_context = rope.Positive("original_max_position_embeddings");
    if (scaling.high_freq_factor <= scaling.low_freq_factor) {
      rope.Fail("high_freq_factor must exceed low_freq_factor");
    }
    config->rope_scaling = scaling;
  } else if (type != "default") {
    rope.Fail(
        absl::StrCat("rope_type \"", type, "\" is not supported; supported: default, llama3"));
  }
  RETURN_IF_ERROR(top.status());
  return rope.status();
}

absl::StatusOr<ModelFamily> ParseFamily(const json& root, const std::string& where) {
  Reader reader(root, where);
  const std::string type = reader.TextOr("model_type", "");
  RETURN_IF_ERROR(reader.status());
  std::vector<std::string> names;
  for (const ModelFamily family : {ModelFamily::kLlama, ModelFamily::kQwen2, ModelFamily::kQwen3}) {
    if (type == NameOf(family)) return family;
    names.push_back(NameOf(family));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": model_type \"", type,
                   "\" is not supported; supported architectures: ", absl::StrJoin(names, ", ")));
}

// Returns the value where config.json does not say one.
int64_t DefaultHeadDim(const ModelConfig& config, Reader* reader) {
  if (config.family == ModelFamily::kQwen3) return 128;  // transformers has the same.
  if (!reader->Has("head_dim") && config.hidden % config.heads != 0) {
    reader->Fail(absl::StrCat("hidden_size ", config.hidden,
                              " is not a multiple of num_attention_heads ", config.heads));
  }
  return std::max<int64_t>(1, config.hidden / config.heads);
}

// Windows that never hide a position of the model's own context do not matter, and neither do those
// that `use_sliding_window: false` (Qwen2.5 as shipped) leaves unused.
void RefuseSlidingWindows(const json& root, const ModelConfig& config, Reader* reader) {
  if (!reader->FlagOr("use_sliding_window", false)) return;
  const int64_t window = reader->PositiveOr("sliding_window", 4096);
  const int64_t first = reader->Has("max_window_layers") && root["max_window_layers"] == 0
                            ? 0
                            : reader->PositiveOr("max_window_layers", 28);
  bool slides = first < config.layers;
  // transformers 5 lists them.
  if (reader->Has("layer_types") && root["layer_types"].is_array()) {
    slides = std::any_of(root["layer_types"].begin(), root["layer_types"].end(),
                         [](const json& type) { return type != "full_attention"; });
  }
  if (slides && window < config.context) {
    reader->Fail(absl::StrCat("attention over a sliding window of ", window,
                              " positions is not supported; a model whose layers all see the whole "
                              "context of ",
                              config.context, " is needed"));
  }
}

// Refuses what this trainer would compute wrongly if it went unnoticed.
void RefuseUnsupported(const ModelConfig& config, Reader* reader) {
  const std::string act = reader->TextOr("hidden_act", "silu");
  if (act != "silu") {
    reader->Fail(absl::StrCat("hidden_act \"", act, "\" is not supported; supported: silu"));
  }
  if (reader->FlagOr("attention_bias", false) && config.family != ModelFamily::kQwen2) {
    reader->Fail("attention_bias is true, which is not supported");
  }
  if (reader->NumberOr("partial_rotary_factor", 1) != 1) {
    reader->Fail("partial_rotary_factor other than 1 is not supported");
  }
  if (reader->FlagOr("mlp_bias", false)) {
    reader->Fail("mlp_bias is true, which is not supported");
  }
  if (reader->Has("quantization_config")) {
    reader->Fail("quantized weights can not be trained; use the unquantized model");
  }
  if (config.heads % config.kv_heads != 0) {
    reader->Fail(absl::StrCat("num_attention_heads ", config.heads,
                              " is not a multiple of num_key_value_heads ", config.kv_heads));
  }
  if (config.head_dim % 2 != 0) {
    reader->Fail(absl::StrCat("head_dim ", config.head_dim, " is odd"));
  }
}

}  // namespace

const char* NameOf(ModelFamily family) {
  switch (family) {
    case ModelFamily::kLlama:
      return "llama";
    case ModelFamily::kQwen2:
      return "qwen2";
    case ModelFamily::kQwen3:
      return "qwen3";
  }
  return "";
}

int64_t ModelConfig::parameters() const {
  const int64_t layer = 2 * hidden + qkv_rows() * hidden + (qkv_bias ? qkv_rows() : 0) +
                        (qk_norm ? 2 * head_dim : 0) + hidden * heads * head_dim +
                        3 * hidden * intermediate;
  return layers * layer + hidden + vocab * hidden * (tied ? 1 : 2);
}

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view text, const std::string& where) {
  const json root = json::parse(text.begin(), text.end(), nullptr, false);
  if (root.is_discarded() || !root.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, " is not a JSON object: damaged? Copy or download it again."));
  }
  ModelConfig config;
  config.json = std::string(text);
  ASSIGN_OR_RETURN(config.family, ParseFamily(root, where));
  Reader reader(root, where);
  config.layers = reader.Positive("num_hidden_layers");
  config.hidden = reader.Positive("hidden_size");
  config.heads = reader.Positive("num_attention_heads");
  config.kv_heads = reader.PositiveOr("num_key_value_heads", config.heads);
  config.head_dim = reader.PositiveOr("head_dim", DefaultHeadDim(config, &reader));
  config.intermediate = reader.Positive("intermediate_size");
  config.vocab = reader.Positive("vocab_size");
  config.context = reader.Positive("max_position_embeddings");
  config.rms_eps = reader.NumberOr("rms_norm_eps", 1e-6);
  config.tied = reader.FlagOr("tie_word_embeddings", false);
  config.qkv_bias = config.family == ModelFamily::kQwen2;
  config.qk_norm = config.family == ModelFamily::kQwen3;
  config.bos_id = FirstOf(reader.Ids("bos_token_id"));
  config.pad_id = FirstOf(reader.Ids("pad_token_id"));
  AddIds(reader.Ids("eos_token_id"), &config.eos_ids);
  RefuseUnsupported(config, &reader);
  RefuseSlidingWindows(root, config, &reader);
  RETURN_IF_ERROR(reader.status());
  RETURN_IF_ERROR(ParseRope(root, where, &config));
  return config;
}

absl::StatusOr<ModelConfig> LoadModelConfig(const std::string& directory) {
  const std::string path = directory + "/config.json";
  auto text = ReadFile(path);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat(text.status().message(),
                                     "; a model is a Hugging Face directory "
                                     "with config.json, tokenizer.json and safetensors"));
  }
  ASSIGN_OR_RETURN(ModelConfig config, ParseModelConfig(*text, path));
  const std::string generation_path = directory + "/generation_config.json";
  if (!std::filesystem::exists(generation_path)) return config;
  ASSIGN_OR_RETURN(const std::string generation_text, ReadFile(generation_path));
  const json generation = json::parse(generation_text, nullptr, false);
  if (generation.is_discarded() || !generation.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(
        generation_path, " is not a JSON object: damaged? Copy or download it again."));
  }
  Reader reader(generation, generation_path);
  AddIds(reader.Ids("eos_token_id"), &config.eos_ids);
  RETURN_IF_ERROR(reader.status());
  return config;
}

}  // namespace whetstone
