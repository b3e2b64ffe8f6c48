#include "gpu_trainer/rpc/model_inspection.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/rpc/model_text.h"
#include "gpu_trainer/rpc/rpc_boundary.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

// Looks at configuration and weights.
absl::StatusOr<ModelConfig> InspectDirectory(const std::string& directory, v1::ModelFacts* facts) {
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) {
    return absl::NotFoundError(
        absl::StrCat("there is no directory ", directory,
                     " on the trainer's machine; name a Hugging Face directory (config.json, "
                     "tokenizer.json, *.safetensors)"));
  }
  ASSIGN_OR_RETURN(ModelConfig config, LoadModelConfig(directory));
  ASSIGN_OR_RETURN(const int64_t bytes, CheckWeights(directory, config));
  facts->set_family(NameOf(config.family));
  facts->set_parameters(config.parameters());
  facts->set_weight_bytes(bytes);
  facts->set_context_length(config.context);
  facts->set_vocab_size(config.vocab);
  return config;
}

absl::Status InspectPolicy(const v1::InspectModelRequest& request,
                           v1::InspectModelResponse* response) {
  const std::string& directory = request.model();
  ASSIGN_OR_RETURN(const ModelConfig config,
                   InspectDirectory(directory, response->mutable_model()));
  std::error_code ignored;
  if (!request.weights_only() && fs::exists(directory + "/resume", ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(
        directory,
        " is a checkpoint in the middle of another run, with that run's optimizer; to start from "
        "its weights alone, copy it without its resume/ folder"));
  }
  ASSIGN_OR_RETURN(const ModelText text,
                   LoadModelText(directory, config, request.chat(), request.deterministic()));
  RETURN_IF_ERROR(text.chat.status());
  for (const v1::NamedPrompt& prompt : request.prompts()) {
    const auto ids =
        CheckPrompt(text, prompt.messages(), prompt.response_prefix(), prompt.continuation());
    if (!ids.ok()) {
      return absl::Status(
          ids.status().code(),
          absl::StrCat(directory, ", prompt of ", prompt.name(), ": ", ids.status().message()));
    }
    response->add_prompt_tokens(static_cast<int32_t>(ids->size()));
  }
  return absl::OkStatus();
}

absl::Status InspectReference(const v1::InspectModelRequest& request,
                              v1::InspectModelResponse* response) {
  const std::string& directory = request.kl_reference();
  RETURN_IF_ERROR(InspectDirectory(directory, response->mutable_kl_reference()).status());
  const int64_t vocab = response->kl_reference().vocab_size();
  const int64_t policy_vocab = response->model().vocab_size();
  if (response->model().error().empty() && vocab != policy_vocab) {
    return absl::InvalidArgumentError(absl::StrCat(directory,
                                                   ": the reference model's vocabulary has ", vocab,
                                                   " tokens, the policy's ", policy_vocab));
  }
  return absl::OkStatus();
}

// An error takes the place of all other facts.
void Inspect(v1::ModelFacts* facts, const std::function<absl::Status()>& inspect) {
  const absl::Status status = Guarded("InspectModel", inspect);
  if (status.ok()) return;
  facts->Clear();
  facts->set_error(std::string(status.message()));
}

}  // namespace

v1::InspectModelResponse InspectModel(const v1::InspectModelRequest& request) {
  v1::InspectModelResponse response;
  Inspect(response.mutable_model(), [&] { return InspectPolicy(request, &response); });
  if (!response.model().error().empty()) response.clear_prompt_tokens();
  if (!request.kl_reference().empty()) {
    Inspect(response.mutable_kl_reference(), [&] { return InspectReference(request, &response); });
  }
  return response;
}

}  // namespace whetstone
