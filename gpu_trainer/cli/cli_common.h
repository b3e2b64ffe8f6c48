// The model sub-commands share this: opening a model, reading JSON lines, exit codes.
#ifndef WHETSTONE_GPU_TRAINER_CLI_CLI_COMMON_H_
#define WHETSTONE_GPU_TRAINER_CLI_CLI_COMMON_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_trainer/distributed/rank_place.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/profile/device.h"
#include "gpu_trainer/tokenizer/chat.h"
#include "gpu_trainer/tokenizer/tokenizer.h"

namespace whetstone {

// Returns the exit code: 0 done, 2 wrong usage or input, 3 our own failure. Prints a failure to
// stderr.
int ExitCode(const absl::Status& status);

// ComputeOptions says where and how a model computes.
struct ComputeOptions {
  std::string dtype = "auto";   // Or float32, bfloat16, float16.
  std::string device = "auto";  // Or cpu, cuda. auto is cuda where there is one.
  int threads = 0;              // 0: all cores.
};

// Adds --dtype, --device and --threads.
void AddComputeOptions(CLI::App* command, ComputeOptions* options);

// Chooses the device that `name` (cpu, cuda or auto) means for the process at `place`, of GPUs the
// one of its local rank, and makes it ready for this thread (profile/device.h). Every sub-command
// that computes calls it before anything else. The errors are ChooseDevice's and GpuOf's.
absl::StatusOr<DeviceChoice> OpenDevice(const std::string& name, const RankPlace& place);

// Sets the number of threads and opens the device, on which to compute.
absl::StatusOr<torch::Device> ApplyComputeOptions(const ComputeOptions& options,
                                                  const RankPlace& place = {});

// A model in memory. Not movable: other objects borrow its parts.
struct LoadedModel {
  ModelConfig config;
  Weights weights;
  std::unique_ptr<Tokenizer> tokenizer;
};

// Applies `options` to the process (threads) and loads config, weights and tokenizer.
absl::StatusOr<std::unique_ptr<LoadedModel>> LoadModel(const std::string& directory,
                                                       const ComputeOptions& options);

// Reads FILE (or - for stdin) line by line; `body` gets each line's object. Blank lines are
// skipped. INVALID_ARGUMENT with file and line number: not a JSON object, or what `body` returned.
absl::Status ForEachJsonLine(const std::string& path,
                             const std::function<absl::Status(const nlohmann::json& line)>& body);

// Return line[key] as a string, or as a list of token ids. INVALID_ARGUMENT: missing or of another
// type.
absl::StatusOr<std::string> StringField(const nlohmann::json& line, const char* key);
absl::StatusOr<std::vector<int32_t>> IdsField(const nlohmann::json& line, const char* key);

// Returns line["messages"], which must be there: [{"role": "…", "content": "…"}, …].
absl::StatusOr<std::vector<ChatMessage>> MessagesField(const nlohmann::json& line);

// Prints one line on stdout, flushed.
void PrintLine(const nlohmann::ordered_json& value);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CLI_CLI_COMMON_H_
