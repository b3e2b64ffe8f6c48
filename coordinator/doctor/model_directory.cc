#include "coordinator/doctor/model_directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

using nlohmann::json;

// gpu_trainer/model/config.cc accepts these architectures.
const char* const kArchitectures[] = {"llama", "qwen2", "qwen3"};

// A safetensors header is JSON; the format's own reader refuses more than this.
constexpr uint64_t kHeaderBytesMax = 100 << 20;

absl::Status Missing(const std::string& file) {
  return absl::NotFoundError(
      absl::StrCat(file,
                   " is missing: `model` must name a complete Hugging Face directory (config.json, "
                   "tokenizer.json and safetensors weights)"));
}

absl::Status Broken(const std::string& file, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat(file, " is damaged: ", why, "; copy or download it again"));
}

absl::StatusOr<json> ReadJson(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadFile(file);
  if (!text.ok()) return absl::IsNotFound(text.status()) ? Missing(file) : text.status();
  json value = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return Broken(file, "it is not a JSON object");
  return value;
}

// Adds one weight file's tensors to `summary`. The format is that of
// https://github.com/huggingface/safetensors#format
absl::Status AddWeights(const std::string& file, ModelSummary* summary) {
  struct stat info;
  if (stat(file.c_str(), &info) != 0) return Missing(file);
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  std::ifstream in(file, std::ios::binary);
  unsigned char length_bytes[8];
  if (!in.read(reinterpret_cast<char*>(length_bytes), 8)) {
    return Broken(file, "shorter than 8 bytes");
  }
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | length_bytes[i];
  if (length > kHeaderBytesMax || length + 8 > size) {
    return Broken(file, absl::StrCat("its header says ", length, " bytes, the file has ", size));
  }
  std::string text(length, '\0');
  in.read(text.data(), static_cast<std::streamsize>(length));
  const json header = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return Broken(file, "its header is not a JSON object");
  uint64_t end = 0;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const json* offsets =
        tensor.is_object() && tensor.contains("data_offsets") ? &tensor["data_offsets"] : nullptr;
    if (offsets == nullptr || !offsets->is_array() || offsets->size() != 2 ||
        !(*offsets)[1].is_number_unsigned() || !tensor.contains("shape") ||
        !tensor["shape"].is_array()) {
      return Broken(file, absl::StrCat("tensor '", name, "' has no offsets or shape"));
    }
    end = std::max(end, (*offsets)[1].get<uint64_t>());
    int64_t elements = 1;
    for (const json& n : tensor["shape"]) elements *= n.is_number() ? n.get<int64_t>() : 0;
    summary->parameters += elements;
  }
  if (8 + length + end != size) {
    return Broken(
        file, absl::StrCat("its tensors need ", 8 + length + end, " bytes, the file has ", size));
  }
  summary->weight_bytes += static_cast<int64_t>(end);
  return absl::OkStatus();
}

absl::Status CheckArchitecture(const std::string& file, const json& config, ModelSummary* summary) {
  if (!config.contains("model_type") || !config["model_type"].is_string()) {
    return Broken(file, "it has no `model_type`");
  }
  summary->architecture = config["model_type"].get<std::string>();
  for (const char* known : kArchitectures) {
    if (summary->architecture == known) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": model_type \"", summary->architecture,
                   "\" is not supported; supported: ", absl::StrJoin(kArchitectures, ", ")));
}

}  // namespace

absl::StatusOr<ModelSummary> InspectModelDirectory(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat("no model directory ", path,
                                            ": correct `model` in the campaign, or fetch the "
                                            "model there first"));
  }
  ModelSummary summary;
  ASSIGN_OR_RETURN(const json config, ReadJson(path + "/config.json"));
  RETURN_IF_ERROR(CheckArchitecture(path + "/config.json", config, &summary));
  RETURN_IF_ERROR(ReadJson(path + "/tokenizer.json").status());
  const std::string index = path + "/model.safetensors.index.json";
  if (stat(index.c_str(), &info) != 0) {
    RETURN_IF_ERROR(AddWeights(path + "/model.safetensors", &summary));
    return summary;
  }
  ASSIGN_OR_RETURN(const json map, ReadJson(index));
  if (!map.contains("weight_map") || !map["weight_map"].is_object()) {
    return Broken(index, "it has no `weight_map`");
  }
  std::set<std::string> files;
  for (const json& file : map["weight_map"]) {
    if (!file.is_string()) return Broken(index, "`weight_map` holds something else than names");
    files.insert(file.get<std::string>());
  }
  for (const std::string& file : files) {
    RETURN_IF_ERROR(AddWeights(absl::StrCat(path, "/", file), &summary));
  }
  return summary;
}

}  // namespace whetstone
