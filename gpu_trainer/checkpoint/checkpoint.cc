#include "gpu_trainer/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/manifest.h"
#include "common/status_macros.h"
#include "gpu_trainer/checkpoint/adapter_file.h"
#include "gpu_trainer/checkpoint/resume_state.h"
#include "gpu_trainer/checkpoint/state_gather.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

constexpr char kAdapter[] = "adapter";

// Tells whether a checkpoint gets a copy of the file. SaveWeights writes some files itself, and
// weights in other formats are not ours to copy.
bool IsCopied(const std::string& name) {
  if (name == "config.json" || name == "model.safetensors.index.json") return false;
  for (const char* suffix : {".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack"}) {
    if (absl::EndsWith(name, suffix)) return false;
  }
  return true;
}

absl::StatusOr<std::map<std::string, std::string>> ReadSmallFiles(const std::string& from) {
  std::map<std::string, std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!it->is_regular_file(error) || !IsCopied(name)) continue;
    ASSIGN_OR_RETURN(files[name], ReadFile(it->path().string()));
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot list ", from));
  return files;
}

absl::Status SyncDirectory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  absl::Cleanup close_fd = [fd] { close(fd); };
  if (fsync(fd) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot fsync ", path));
  return absl::OkStatus();
}

// Puts `temp` in `directory`'s place; an older checkpoint ends up at `temp`.
absl::Status Publish(const std::string& temp, const std::string& directory) {
  const bool exists = fs::exists(directory);
  if (renameat2(AT_FDCWD, temp.c_str(), AT_FDCWD, directory.c_str(),
                exists ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot rename ", temp, " to ", directory));
  }
  return SyncDirectory(fs::path(directory).parent_path().string());
}

// Removes what a trainer that was killed while it saved here left behind.
void RemoveLeftovers(const fs::path& directory) {
  std::error_code ignored;
  const std::string prefix = directory.filename().string() + ".tmp-";
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(directory.parent_path(), ignored)) {
    if (absl::StartsWith(entry.path().filename().string(), prefix)) old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove_all(path, ignored);
}

// Writes all files of a checkpoint to `temp`. The manifest comes last.
absl::Status WriteAll(const Policy& policy, StateGather& gathered, const std::string& temp,
                      const CheckpointFault& fault, Manifest* manifest) {
  const auto stage = [&](absl::string_view name) {
    if (RankGroup* const ranks = policy.learner_options.ranks) ranks->Working();
    return fault ? fault(name) : absl::OkStatus();
  };
  RETURN_IF_ERROR(MakeDirectories(absl::StrCat(temp, "/", kResumeFolder)));
  RETURN_IF_ERROR(stage("weights"));
  RETURN_IF_ERROR(SaveWeights(temp, policy.config, policy.weights, policy.weights.dtype()));
  RETURN_IF_ERROR(stage("files"));
  for (const auto& [name, content] : policy.companions) {
    RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(temp, "/", name), content));
  }
  RETURN_IF_ERROR(stage("optimizer"));
  RETURN_IF_ERROR(WriteResumeState(policy, gathered, temp));
  const Learner* const learner = policy.learner_if_any();
  if (learner != nullptr && learner->lora() != nullptr) {
    RETURN_IF_ERROR(
        SaveAdapter(absl::StrCat(temp, "/", kAdapter), *learner->lora(), policy.base_model));
  }
  RETURN_IF_ERROR(stage("manifest"));
  ASSIGN_OR_RETURN(*manifest, DigestDirectory(temp));
  RETURN_IF_ERROR(
      WriteFileAtomically(absl::StrCat(temp, "/", kManifestFile), ManifestToJson(*manifest)));
  return SyncDirectory(temp);
}

}  // namespace

absl::StatusOr<SavedCheckpoint> SaveCheckpoint(const Policy& policy, const std::string& path,
                                               const CheckpointFault& fault) {
  RankGroup* const ranks = policy.learner_options.ranks;
  const Learner* const learner = policy.learner_if_any();
  StateGather state(learner == nullptr ? std::vector<ShardedTensor>() : learner->State(), ranks);
  if (ranks != nullptr && ranks->rank() > 0) {
    RETURN_IF_ERROR(state.Rest());
    return SavedCheckpoint();
  }
  std::error_code error;
  fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (error || path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is no path for a checkpoint"));
  }
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  const std::string directory = absolute.string();
  if (fs::exists(directory) && !fs::exists(absl::StrCat(directory, "/", kManifestFile))) {
    return absl::AlreadyExistsError(
        absl::StrCat(directory, " exists and is no checkpoint; it will not be replaced"));
  }
  RETURN_IF_ERROR(MakeDirectories(absolute.parent_path().string()));
  RemoveLeftovers(absolute);
  const std::string temp = absl::StrCat(directory, ".tmp-", getpid());
  absl::Cleanup remove_temp = [&temp] {
    std::error_code ignored;
    fs::remove_all(temp, ignored);
  };
  Manifest manifest;
  RETURN_IF_ERROR(WriteAll(policy, state, temp, fault, &manifest));
  if (fault) RETURN_IF_ERROR(fault("rename"));
  RETURN_IF_ERROR(Publish(temp, directory));
  return SavedCheckpoint{.checksum = ChecksumOf(manifest), .bytes = BytesOf(manifest)};
}

absl::Status CheckChecksum(const std::string& directory, const std::string& checksum) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) return absl::OkStatus();
  const std::string path = absl::StrCat(directory, "/", kManifestFile);
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) {
    return absl::DataLossError(absl::StrCat(directory, " is not the checkpoint of checksum ",
                                            checksum, ": ", text.status().message()));
  }
  ASSIGN_OR_RETURN(const Manifest manifest, ParseManifest(*text, path));
  if (ChecksumOf(manifest) == checksum) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(directory, " is another checkpoint than was saved there: its checksum is ",
                   ChecksumOf(manifest), ", where ", checksum, " is recorded"));
}

absl::Status RemoveCheckpoint(const std::string& directory) {
  std::error_code error;
  // The rename comes first: half a checkpoint must not look like one. A directory that is there
  // already is left of a removal that was cut off.
  const std::string doomed = absl::StrCat(directory, ".tmp-removed");
  fs::remove_all(doomed, error);
  if (!fs::exists(directory, error)) return absl::OkStatus();
  if (!fs::exists(absl::StrCat(directory, "/", kManifestFile), error)) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory, " is no checkpoint; it will not be removed"));
  }
  fs::rename(directory, doomed, error);
  if (!error) fs::remove_all(doomed, error);
  if (error) {
    return absl::InternalError(absl::StrCat("cannot remove ", directory, ": ", error.message()));
  }
  return absl::OkStatus();
}

namespace {

// Reads all but resume/.
absl::StatusOr<std::unique_ptr<Policy>> ReadModel(const std::string& directory,
                                                  torch::ScalarType dtype, torch::Device device,
                                                  const LearnerOptions& options) {
  if (!fs::is_directory(directory)) {
    return absl::NotFoundError(
        absl::StrCat(directory,
                     ": no such directory on the trainer's machine; a model is a "
                     "directory with config.json, model.safetensors and tokenizer.json"));
  }
  auto policy = std::make_unique<Policy>();
  ASSIGN_OR_RETURN(policy->companions, ReadSmallFiles(directory));
  policy->learner_options = options;
  policy->base_model = fs::absolute(directory).lexically_normal().string();
  ASSIGN_OR_RETURN(policy->config, LoadModelConfig(directory));
  RETURN_IF_ERROR(CheckLora(policy->config, options.lora));
  ASSIGN_OR_RETURN(policy->weights, LoadWeights(directory, policy->config, dtype, device));
  return policy;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Policy>> LoadPolicyModel(const std::string& directory,
                                                        torch::ScalarType dtype,
                                                        torch::Device device,
                                                        const LearnerOptions& options) {
  RETURN_IF_ERROR(VerifyModelFiles(directory));
  return ReadModel(directory, dtype, device, options);
}

absl::StatusOr<std::unique_ptr<Policy>> LoadPolicy(const std::string& directory,
                                                   torch::ScalarType dtype, torch::Device device,
                                                   const LearnerOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Policy> policy, ReadModel(directory, dtype, device, options));
  if (fs::exists(absl::StrCat(directory, "/", kResumeFolder)))
    RETURN_IF_ERROR(ReadResumeState(directory, *policy));
  return policy;
}

}  // namespace whetstone
