#include "gpu_trainer/checkpoint/kl_reference.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/checkpoint/resume_state.h"

namespace whetstone {
namespace fs = std::filesystem;

absl::Status SetKlReference(const std::string& directory, Policy& policy) {
  if (directory == policy.reference_path) return absl::OkStatus();
  if (directory.empty()) {
    policy.reference.reset();
    policy.reference_path.clear();
    return absl::OkStatus();
  }
  if (!fs::is_directory(directory)) {
    return absl::NotFoundError(absl::StrCat(
        directory,
        ": no such directory on the trainer's machine; it is the reference model of the "
        "KL penalty (kl_reference)"));
  }
  RETURN_IF_ERROR(VerifyModelFiles(directory));
  auto reference = std::make_unique<ReferenceModel>();
  ASSIGN_OR_RETURN(reference->config, LoadModelConfig(directory));
  if (reference->config.vocab != policy.config.vocab) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, ": the reference model's vocabulary has ", reference->config.vocab,
                     " tokens, the policy's ", policy.config.vocab));
  }
  ASSIGN_OR_RETURN(
      reference->weights,
      LoadWeights(directory, reference->config, policy.weights.dtype(), policy.weights.device()));
  policy.reference = std::move(reference);
  policy.reference_path = directory;
  return absl::OkStatus();
}

}  // namespace whetstone
