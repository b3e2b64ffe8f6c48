// Weights holds the weights of a decoder as plain tensors, with the matrices that read the same
// input fused.
//
//   ASSIGN_OR_RETURN(ModelConfig config, LoadModelConfig(directory));
//   ASSIGN_OR_RETURN(Weights weights, LoadWeights(directory, config, torch::kBFloat16));
//   for (auto& [name, tensor] : weights.Named()) …       // the optimizer updates these in place
//   RETURN_IF_ERROR(SaveWeights(out_directory, config, weights, torch::kBFloat16));
//
// There is one copy: generation and update read the very same tensors, so an update made in place
// (`tensor.copy_()`, `tensor.add_()`) is seen by the next token. Nothing derived from them is
// cached anywhere. Replacing a tensor object would not be seen: never assign to a field after load.
// Not thread-safe: no update while a generation runs.
#ifndef WHETSTONE_GPU_TRAINER_MODEL_WEIGHTS_H_
#define WHETSTONE_GPU_TRAINER_MODEL_WEIGHTS_H_

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_trainer/model/config.h"

namespace whetstone {

// All are contiguous, of one dtype and on one device. For the letters see ModelConfig.
struct LayerWeights {
  torch::Tensor input_norm;  // [C]
  torch::Tensor qkv;         // [(H + 2K) * D, C]: all query heads, then key heads, then value heads
  torch::Tensor qkv_bias;    // [(H + 2K) * D]; undefined where the family has none
  torch::Tensor q_norm;      // [D], shared by the query heads; undefined where there is none
  torch::Tensor k_norm;      // [D], likewise
  torch::Tensor o;           // [C, H * D]
  torch::Tensor post_norm;   // [C]
  torch::Tensor gate_up;     // [2I, C]: gate, then up
  torch::Tensor down;        // [C, I]
};

struct Weights {
  torch::Tensor embed;  // [V, C]
  std::vector<LayerWeights> layers;
  torch::Tensor final_norm;  // [C]
  torch::Tensor lm_head;     // [V, C]; when tied, the same tensor object as `embed`

  // Returns every learned tensor once (a tied head only as "embed"), in a fixed order: "embed",
  // "layers.0.input_norm", "layers.0.qkv", …, "final_norm", "lm_head". Handles share storage.
  std::vector<std::pair<std::string, torch::Tensor>> Named() const;
  torch::ScalarType dtype() const { return embed.scalar_type(); }
  torch::Device device() const { return embed.device(); }
};

// Returns the layer that a name of Named(), or one made of it ("lora.layers.3.q_proj.a"), belongs
// to.
std::optional<int64_t> LayerOf(absl::string_view name);

// Returns uninitialised weights of the config's shapes (an optimizer's masters and moments, say).
Weights EmptyWeights(const ModelConfig& config, torch::ScalarType dtype, torch::Device device);

// Returns the same weights in `dtype` on `device`, whatever they are in and on.
Weights CopyWeights(const ModelConfig& config, const Weights& weights, torch::ScalarType dtype,
                    torch::Device device);

// Returns Normal(0, 0.02) matrices and norms of 1, the same for a seed on every machine's CPU.
Weights RandomWeights(const ModelConfig& config, torch::ScalarType dtype, uint64_t seed);

// Reads model.safetensors, or model.safetensors.index.json and its shards, and converts to `dtype`
// (kBFloat16, kHalf or kFloat). Stored dtypes: F32, BF16, F16. Every tensor of the config must be
// there with the exact shape; unknown tensors are an error, except buffers that old exports carry
// (rotary_emb.inv_freq) and a stored lm_head equal by name to a tied embedding.
// NOT_FOUND: no weights file. INVALID_ARGUMENT: corrupt file or wrong tensor, both named.
absl::StatusOr<Weights> LoadWeights(const std::string& directory, const ModelConfig& config,
                                    torch::ScalarType dtype, torch::Device device = torch::kCPU);

// Finds out what LoadWeights does before it reads a tensor's bytes: whether the files are whole and
// hold the config's tensors and no others. Returns the bytes of the tensors. Errors are those of
// LoadWeights.
absl::StatusOr<int64_t> CheckWeights(const std::string& directory, const ModelConfig& config);

// Writes DIRECTORY/model.safetensors (transformers' names, unfused) in `dtype` and config.json with
// that dtype. `weights` may be of any floating dtype (fp32 masters, say). Each file is written to a
// temporary name, fsynced and renamed. RESOURCE_EXHAUSTED: disk full, nothing left behind.
absl::Status SaveWeights(const std::string& directory, const ModelConfig& config,
                         const Weights& weights, torch::ScalarType dtype);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_MODEL_WEIGHTS_H_
