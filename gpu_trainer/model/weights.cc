#include "gpu_trainer/model/weights.h"

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "gpu_trainer/model/hf_names.h"
#include "gpu_trainer/model/safetensors.h"

namespace whetstone {
namespace {

using nlohmann::json;

constexpr char kSingleFile[] = "model.safetensors";
constexpr char kIndexFile[] = "model.safetensors.index.json";

struct Found {
  const SafetensorsFile* file;
  const SafetensorsEntry* entry;
};

// TensorFiles holds the tensors of one model, however many files they are spread over.
struct TensorFiles {
  std::vector<std::unique_ptr<SafetensorsFile>> files;
  std::map<std::string, Found> tensors;
};

absl::StatusOr<std::set<std::string>> ShardNames(const std::string& index_path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(index_path));
  const json index = json::parse(text, nullptr, false);
  if (index.is_discarded() || !index.is_object() || !index.contains("weight_map") ||
      !index["weight_map"].is_object() || index["weight_map"].empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(index_path, ": no weight_map: damaged? Copy or download it again."));
  }
  std::set<std::string> names;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          index_path, ": tensor \"", tensor, "\" names no file of this directory: ", file.dump()));
    }
    names.insert(file.get<std::string>());
  }
  return names;
}

absl::StatusOr<TensorFiles> OpenAll(const std::string& directory) {
  std::set<std::string> names;
  if (std::filesystem::exists(absl::StrCat(directory, "/", kSingleFile))) {
    names.insert(kSingleFile);
  } else if (std::filesystem::exists(absl::StrCat(directory, "/", kIndexFile))) {
    ASSIGN_OR_RETURN(names, ShardNames(absl::StrCat(directory, "/", kIndexFile)));
  } else {
    return absl::NotFoundError(absl::StrCat(directory, " holds neither ", kSingleFile, " nor ",
                                            kIndexFile, "; copy the model's weights there"));
  }
  TensorFiles all;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(auto file, SafetensorsFile::Open(absl::StrCat(directory, "/", name)));
    for (const auto& [tensor, entry] : file->entries()) {
      if (!all.tensors.emplace(tensor, Found{file.get(), &entry}).second) {
        return absl::InvalidArgumentError(
            absl::StrCat(file->path(), ": tensor \"", tensor, "\" is also in another file"));
      }
    }
    all.files.push_back(std::move(file));
  }
  return all;
}

absl::StatusOr<torch::ScalarType> TorchDtype(const std::string& dtype) {
  if (dtype == "F32") return torch::kFloat;
  if (dtype == "BF16") return torch::kBFloat16;
  if (dtype == "F16") return torch::kHalf;
  return absl::InvalidArgumentError(
      absl::StrCat("dtype ", dtype, " is not supported; supported: F32, BF16, F16"));
}

bool MayBeIgnored(const std::string& name, const ModelConfig& config) {
  return absl::EndsWith(name, "rotary_emb.inv_freq") || (config.tied && name == "lm_head.weight");
}

absl::Status CheckTensor(const Found& found, const HfTensor& wanted) {
  auto fail = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(found.file->path(), ": tensor \"", wanted.name, "\": ", what));
  };
  const std::vector<int64_t> want = wanted.view.sizes().vec();
  if (found.entry->shape != want) {
    return fail(absl::StrCat("shape [", absl::StrJoin(found.entry->shape, ", "), "] in the file, [",
                             absl::StrJoin(want, ", "), "] by config.json"));
  }
  const auto dtype = TorchDtype(found.entry->dtype);
  return dtype.ok() ? absl::OkStatus() : fail(dtype.status().message());
}

// Checks that the files hold the wanted tensors and no others.
absl::Status CheckTensors(const TensorFiles& files, const ModelConfig& config,
                          const std::vector<HfTensor>& wanted) {
  std::set<std::string> known;
  for (const HfTensor& tensor : wanted) {
    known.insert(tensor.name);
    const auto found = files.tensors.find(tensor.name);
    if (found == files.tensors.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(files.files.front()->path(), ": tensor \"", tensor.name, "\" is missing"));
    }
    RETURN_IF_ERROR(CheckTensor(found->second, tensor));
  }
  for (const auto& [name, found] : files.tensors) {
    if (!known.count(name) && !MayBeIgnored(name, config)) {
      return absl::InvalidArgumentError(
          absl::StrCat(found.file->path(), ": tensor \"", name,
                       "\" is not part of the architecture that config.json describes"));
    }
  }
  return absl::OkStatus();
}

void CopyIn(const Found& found, const HfTensor& to) {
  const absl::string_view bytes = found.file->Bytes(*found.entry);
  // from_blob wants a mutable pointer; the copy below only reads.
  const torch::Tensor stored = torch::from_blob(const_cast<char*>(bytes.data()), to.view.sizes(),
                                                torch::dtype(*TorchDtype(found.entry->dtype)));
  torch::NoGradGuard no_grad;
  to.view.copy_(stored);
}

// StoredType holds what files call a compute type.
struct StoredType {
  const char* safetensors;
  const char* transformers;
};
StoredType StoredTypeOf(torch::ScalarType dtype) {
  if (dtype == torch::kBFloat16) return {"BF16", "bfloat16"};
  if (dtype == torch::kHalf) return {"F16", "float16"};
  TORCH_CHECK(dtype == torch::kFloat, "weights are saved in a compute type, not ", dtype);
  return {"F32", "float32"};
}

absl::StatusOr<std::string> ConfigJsonWithDtype(const ModelConfig& config, const char* dtype) {
  nlohmann::ordered_json root = nlohmann::ordered_json::parse(config.json, nullptr, false);
  if (root.is_discarded()) return absl::InternalError("ModelConfig::json is not JSON");
  // The key that the source used is kept: transformers 4 says torch_dtype, 5 says dtype.
  if (root.contains("dtype") || !root.contains("torch_dtype")) root["dtype"] = dtype;
  if (root.contains("torch_dtype")) root["torch_dtype"] = dtype;
  return root.dump(2) + "\n";
}

}  // namespace

std::vector<std::pair<std::string, torch::Tensor>> Weights::Named() const {
  std::vector<std::pair<std::string, torch::Tensor>> named;
  named.emplace_back("embed", embed);
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string prefix = absl::StrCat("layers.", i, ".");
    const LayerWeights& layer = layers[i];
    named.emplace_back(prefix + "input_norm", layer.input_norm);
    named.emplace_back(prefix + "qkv", layer.qkv);
    if (layer.qkv_bias.defined()) named.emplace_back(prefix + "qkv_bias", layer.qkv_bias);
    if (layer.q_norm.defined()) {
      named.emplace_back(prefix + "q_norm", layer.q_norm);
      named.emplace_back(prefix + "k_norm", layer.k_norm);
    }
    named.emplace_back(prefix + "o", layer.o);
    named.emplace_back(prefix + "post_norm", layer.post_norm);
    named.emplace_back(prefix + "gate_up", layer.gate_up);
    named.emplace_back(prefix + "down", layer.down);
  }
  named.emplace_back("final_norm", final_norm);
  if (!lm_head.is_same(embed)) named.emplace_back("lm_head", lm_head);
  return named;
}

std::optional<int64_t> LayerOf(absl::string_view name) {
  constexpr absl::string_view kLayers = "layers.";
  const size_t at = name.find(kLayers);
  if (at == absl::string_view::npos) return std::nullopt;
  int64_t layer = 0;
  for (const char digit : name.substr(at + kLayers.size())) {
    if (!absl::ascii_isdigit(digit)) break;
    layer = 10 * layer + (digit - '0');
  }
  return layer;
}

Weights EmptyWeights(const ModelConfig& config, torch::ScalarType dtype, torch::Device device) {
  const auto options = torch::dtype(dtype).device(device);
  Weights weights;
  weights.embed = torch::empty({config.vocab, config.hidden}, options);
  for (int64_t i = 0; i < config.layers; ++i) {
    LayerWeights layer;
    layer.input_norm = torch::empty({config.hidden}, options);
    layer.qkv = torch::empty({config.qkv_rows(), config.hidden}, options);
    if (config.qkv_bias) layer.qkv_bias = torch::empty({config.qkv_rows()}, options);
    if (config.qk_norm) {
      layer.q_norm = torch::empty({config.head_dim}, options);
      layer.k_norm = torch::empty({config.head_dim}, options);
    }
    layer.o = torch::empty({config.hidden, config.heads * config.head_dim}, options);
    layer.post_norm = torch::empty({config.hidden}, options);
    layer.gate_up = torch::empty({2 * config.intermediate, config.hidden}, options);
    layer.down = torch::empty({config.hidden, config.intermediate}, options);
    weights.layers.push_back(std::move(layer));
  }
  weights.final_norm = torch::empty({config.hidden}, options);
  weights.lm_head =
      config.tied ? weights.embed : torch::empty({config.vocab, config.hidden}, options);
  return weights;
}

Weights CopyWeights(const ModelConfig& config, const Weights& weights, torch::ScalarType dtype,
                    torch::Device device) {
  torch::NoGradGuard no_grad;
  Weights copy = EmptyWeights(config, dtype, device);
  const auto from = weights.Named();
  auto to = copy.Named();
  for (size_t i = 0; i < to.size(); ++i) to[i].second.copy_(from[i].second);
  return copy;
}

Weights RandomWeights(const ModelConfig& config, torch::ScalarType dtype, uint64_t seed) {
  Weights weights = EmptyWeights(config, dtype, torch::kCPU);
  at::Generator generator = at::detail::createCPUGenerator(seed);
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : weights.Named()) {
    if (absl::EndsWith(name, "norm")) {
      tensor.fill_(1);
    } else {
      tensor.copy_(torch::empty(tensor.sizes(), torch::kFloat).normal_(0, 0.02, generator));
    }
  }
  return weights;
}

absl::StatusOr<Weights> LoadWeights(const std::string& directory, const ModelConfig& config,
                                    torch::ScalarType dtype, torch::Device device) {
  ASSIGN_OR_RETURN(const TensorFiles files, OpenAll(directory));
  Weights weights = EmptyWeights(config, dtype, device);
  const std::vector<HfTensor> wanted = HfTensors(config, weights);
  RETURN_IF_ERROR(CheckTensors(files, config, wanted));
  for (const HfTensor& tensor : wanted) CopyIn(files.tensors.at(tensor.name), tensor);
  return weights;
}

absl::StatusOr<int64_t> CheckWeights(const std::string& directory, const ModelConfig& config) {
  ASSIGN_OR_RETURN(const TensorFiles files, OpenAll(directory));
  // Tensors of LibTorch's meta device have shapes and no memory.
  const Weights shapes = EmptyWeights(config, torch::kBFloat16, torch::kMeta);
  RETURN_IF_ERROR(CheckTensors(files, config, HfTensors(config, shapes)));
  int64_t bytes = 0;
  for (const auto& [name, found] : files.tensors) {
    bytes += static_cast<int64_t>(found.entry->end - found.entry->begin);
  }
  return bytes;
}

absl::Status SaveWeights(const std::string& directory, const ModelConfig& config,
                         const Weights& weights, torch::ScalarType dtype) {
  const StoredType stored = StoredTypeOf(dtype);
  RETURN_IF_ERROR(MakeDirectories(directory));
  std::vector<torch::Tensor> kept;  // It owns the bytes until they are written.
  std::vector<SafetensorsTensor> tensors;
  for (const HfTensor& tensor : HfTensors(config, weights)) {
    kept.push_back(tensor.view.detach().to(torch::kCPU, dtype).contiguous());
    const torch::Tensor& t = kept.back();
    tensors.push_back({tensor.name, stored.safetensors, t.sizes().vec(),
                       absl::string_view(static_cast<const char*>(t.data_ptr()),
                                         static_cast<size_t>(t.nbytes()))});
  }
  RETURN_IF_ERROR(WriteSafetensors(absl::StrCat(directory, "/", kSingleFile), tensors));
  ASSIGN_OR_RETURN(const std::string json_text, ConfigJsonWithDtype(config, stored.transformers));
  return WriteFileAtomically(directory + "/config.json", json_text);
}

}  // namespace whetstone
