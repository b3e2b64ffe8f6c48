#include "gpu_trainer/checkpoint/kl_reference.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/manifest.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

// Verifies a checkpoint's model files as its own loading does; any other directory has no list of
// what they should be.
absl::Status Verify(const std::string& directory) {
  const std::string path = directory + "/resume/manifest.json";
  if (!fs::exists(path)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(Manifest manifest, ParseManifest(text, path));
  std::erase_if(manifest, [](const auto& file) { return absl::StartsWith(file.first, "resume/"); });
  return VerifyDirectory(directory, manifest);
}

}  // namespace

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
  RETURN_IF_ERROR(Verify(directory));
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
