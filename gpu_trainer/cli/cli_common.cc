#include "gpu_trainer/cli/cli_common.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/model/compute_type.h"

namespace whetstone {

using nlohmann::json;

absl::StatusOr<DeviceChoice> OpenDevice(const std::string& name, const RankPlace& place) {
  const GpuFacts facts = FactsOfThisHost();
  ASSIGN_OR_RETURN(DeviceChoice choice, ChooseDevice(name, facts));
  if (choice.device.is_cuda()) {
    ASSIGN_OR_RETURN(const int gpu, GpuOf(place, facts.gpus));
    choice.device.set_index(static_cast<c10::DeviceIndex>(gpu));
  }
  UseDevice(choice.device);
  return choice;
}

int ExitCode(const absl::Status& status) {
  if (status.ok()) return 0;
  std::fflush(stdout);
  std::fprintf(stderr, "whet-trainer: %s\n", std::string(status.message()).c_str());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
      return 2;
    default:
      return 3;
  }
}

void AddComputeOptions(CLI::App* command, ComputeOptions* options) {
  command
      ->add_option(
          "--dtype", options->dtype,
          "compute type; float16 is for GPUs, and slow on a CPU; auto: bfloat16, or float32 on a "
          "processor without AVX-512")
      ->check(CLI::IsMember({"auto", "float32", "bfloat16", "float16"}))
      ->capture_default_str();
  command->add_option("--device", options->device, "where to compute")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "CPU threads; 0: all cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

absl::StatusOr<torch::Device> ApplyComputeOptions(const ComputeOptions& options,
                                                  const RankPlace& place) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  ASSIGN_OR_RETURN(const DeviceChoice choice, OpenDevice(options.device, place));
  if (!choice.unused_gpu.empty()) {
    std::fprintf(stderr, "whet-trainer: the CPU computes: %s\n", choice.unused_gpu.c_str());
  }
  return choice.device;
}

absl::StatusOr<std::unique_ptr<LoadedModel>> LoadModel(const std::string& directory,
                                                       const ComputeOptions& options) {
  ASSIGN_OR_RETURN(const torch::Device device, ApplyComputeOptions(options));
  auto model = std::make_unique<LoadedModel>();
  ASSIGN_OR_RETURN(model->config, LoadModelConfig(directory));
  ASSIGN_OR_RETURN(model->tokenizer, Tokenizer::Load(directory));
  ASSIGN_OR_RETURN(const torch::ScalarType dtype, ChooseComputeType(options.dtype, device));
  ASSIGN_OR_RETURN(model->weights, LoadWeights(directory, model->config, dtype, device));
  return model;
}

absl::Status ForEachJsonLine(const std::string& path,
                             const std::function<absl::Status(const json& line)>& body) {
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    if (!file) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
    }
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const json line = json::parse(text, nullptr, false);
    absl::Status status;
    if (line.is_discarded()) {
      status = absl::InvalidArgumentError("not valid JSON");
    } else if (!line.is_object()) {
      status = absl::InvalidArgumentError("not a JSON object");
    } else {
      status = body(line);
    }
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(path, ":", number, ": ", status.message()));
    }
  }
  if (in.bad()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  return absl::OkStatus();
}

absl::StatusOr<std::string> StringField(const json& line, const char* key) {
  if (!line.contains(key) || !line[key].is_string()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is missing or not a string"));
  }
  return line[key].get<std::string>();
}

absl::StatusOr<std::vector<int32_t>> IdsField(const json& line, const char* key) {
  if (!line.contains(key) || !line[key].is_array()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is missing or not a list"));
  }
  std::vector<int32_t> ids;
  for (const json& id : line[key]) {
    if (!id.is_number_integer() || id < INT32_MIN || id > INT32_MAX) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", key, "\" holds ", id.dump(), ", which is no token id"));
    }
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

absl::StatusOr<std::vector<ChatMessage>> MessagesField(const json& line) {
  std::vector<ChatMessage> messages;
  if (!line["messages"].is_array()) return absl::InvalidArgumentError("\"messages\" is no list");
  for (const json& message : line["messages"]) {
    if (!message.is_object()) return absl::InvalidArgumentError("a message is no object");
    ASSIGN_OR_RETURN(std::string role, StringField(message, "role"));
    ASSIGN_OR_RETURN(std::string content, StringField(message, "content"));
    messages.push_back({std::move(role), std::move(content)});
  }
  return messages;
}

void PrintLine(const nlohmann::ordered_json& value) {
  const std::string text =
      value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::fprintf(stdout, "%s\n", text.c_str());
  std::fflush(stdout);
}

}  // namespace whetstone
