#include "gpu_trainer/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/manifest.h"
#include "common/measured_metric.h"
#include "common/status_macros.h"
#include "gpu_trainer/checkpoint/adapter_file.h"
#include "gpu_trainer/checkpoint/state_gather.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/model/safetensors.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kAdapter[] = "adapter";
constexpr char kResume[] = "resume";
constexpr char kState[] = "resume/state.json";
constexpr char kOptimizer[] = "resume/optimizer.safetensors";
constexpr char kLastUpdate[] = "resume/last_update.pb";

std::string Join(const std::string& directory, absl::string_view name) {
  return absl::StrCat(directory, "/", name);
}

// Written by SaveWeights, or weights in a format that is not ours to copy.
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

json SpikeGuardToJson(const SpikeGuard::State& state) {
  return {{"norms", state.norms}, {"losses", state.losses}};
}

// Missing: one that never judged.
absl::Status ReadSpikeGuard(const json& state, const std::string& path, SpikeGuard& guard) {
  const json guarded = state.value("spike_guard", json::object());
  SpikeGuard::State out;
  for (const auto& [name, into] :
       {std::pair("norms", &out.norms), std::pair("losses", &out.losses)}) {
    const json values = guarded.is_object() ? guarded.value(name, json::array()) : json();
    const bool numbers =
        values.is_array() &&
        std::all_of(values.begin(), values.end(), [](const json& v) { return v.is_number(); });
    if (!numbers) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": spike_guard.", name, " is no list of numbers"));
    }
    *into = values.get<std::vector<double>>();
  }
  guard.set_state(std::move(out));
  return absl::OkStatus();
}

json LossScaleToJson(const LossScale::State& state) {
  return {{"value", state.value}, {"finite_steps", state.finite_steps}};
}

absl::Status ReadLossScale(const json& state, const std::string& path, LossScale& scale) {
  const json found = state.value("loss_scale", json());
  LossScale::State out;
  if (found.is_object() && found.contains("value") && found["value"].is_number() &&
      found.contains("finite_steps") && found["finite_steps"].is_number_integer()) {
    out = {.value = found["value"], .finite_steps = found["finite_steps"]};
    if (LossScale::IsValid(out)) {
      scale.set_state(out);
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": loss_scale is ", found.dump(), ", which no learner in fp16 wrote"));
}

// safetensors' name of a dtype of Learner::State.
const char* StoredDtype(torch::ScalarType dtype) {
  switch (dtype) {
    case torch::kFloat:
      return "F32";
    case torch::kBFloat16:
      return "BF16";
    case torch::kHalf:
      return "F16";
    case torch::kShort:
      return "I16";
    default:
      CHECK(dtype == torch::kByte);
      return "U8";
  }
}

absl::Status WriteState(StateGather& state, const std::string& path) {
  std::vector<SafetensorsTensor> tensors;
  for (const ShardedTensor& tensor : state.tensors()) {
    tensors.push_back({.name = tensor.name,
                       .dtype = StoredDtype(tensor.mine.scalar_type()),
                       .shape = tensor.shape,
                       .bytes = {}});
  }
  torch::Tensor whole;  // owns the bytes until they are written
  return WriteSafetensors(path, tensors, [&](size_t) -> absl::StatusOr<absl::string_view> {
    ASSIGN_OR_RETURN(whole, state.Next());
    return absl::string_view(static_cast<const char*>(whole.const_data_ptr()),
                             static_cast<size_t>(whole.nbytes()));
  });
}

// `rank`: reads its slices.
absl::Status ReadState(const std::string& path, int rank, Learner& learner) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
  const std::vector<ShardedTensor> wanted = learner.State();
  if (file->entries().size() != wanted.size()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", file->entries().size(),
                                                   " tensors instead of ", wanted.size(),
                                                   "; it belongs to another model"));
  }
  torch::NoGradGuard no_grad;
  for (const ShardedTensor& tensor : wanted) {
    const auto it = file->entries().find(tensor.name);
    if (it == file->entries().end() || it->second.dtype != StoredDtype(tensor.mine.scalar_type()) ||
        it->second.shape != tensor.shape) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": tensor ", tensor.name,
                       " is missing or of another kind or shape; it belongs to another model"));
    }
    if (tensor.mine.numel() == 0) continue;
    const torch::Tensor host = torch::empty_like(tensor.mine, torch::device(torch::kCPU));
    const size_t begin = static_cast<size_t>(tensor.slice_of(rank).begin) * host.itemsize();
    std::memcpy(host.data_ptr(), file->Bytes(it->second).data() + begin, host.nbytes());
    tensor.mine.detach().copy_(host);
  }
  learner.StateWasRestored();
  return absl::OkStatus();
}

// What must be the same for a checkpoint to go on: {"dtype", "optimizer_state", "lora"}.
json LearnerKind(const Policy& policy) {
  json lora;
  if (const LoraSettings& l = policy.learner_options.lora; l.rank > 0) {
    lora = {{"rank", l.rank}, {"alpha", l.alpha}, {"targets", l.targets}};
  }
  return {{"dtype", ComputeTypeName(policy.weights.dtype())},
          {"optimizer_state", NameOf(policy.learner_options.optimizer_state)},
          {"lora", lora}};
}

// Equal runs write equal checkpoints: without what was timed, and metrics in a fixed order.
std::string RepeatableBytes(v1::UpdateResponse update) {
  update.clear_bottleneck();
  auto& metrics = *update.mutable_metrics();
  for (auto it = metrics.begin(); it != metrics.end();) {
    it = IsMeasured(it->first) ? metrics.erase(it) : std::next(it);
  }
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  update.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

absl::Status SyncDirectory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  absl::Cleanup close_fd = [fd] { close(fd); };
  if (fsync(fd) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot fsync ", path));
  return absl::OkStatus();
}

// Puts `temp` in `directory`'s place; an older one ends up at `temp`.
absl::Status Publish(const std::string& temp, const std::string& directory) {
  const bool exists = fs::exists(directory);
  if (renameat2(AT_FDCWD, temp.c_str(), AT_FDCWD, directory.c_str(),
                exists ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot rename ", temp, " to ", directory));
  }
  return SyncDirectory(fs::path(directory).parent_path().string());
}

// What a trainer that was killed while it saved here left behind.
void RemoveLeftovers(const fs::path& directory) {
  std::error_code ignored;
  const std::string prefix = directory.filename().string() + ".tmp-";
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(directory.parent_path(), ignored)) {
    if (absl::StartsWith(entry.path().filename().string(), prefix)) old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove_all(path, ignored);
}

absl::Status WriteAll(const Policy& policy, StateGather& gather, const std::string& temp,
                      const CheckpointFault& fault, Manifest* manifest) {
  const auto stage = [&](absl::string_view name) {
    if (RankGroup* const ranks = policy.learner_options.ranks) ranks->Working();
    return fault ? fault(name) : absl::OkStatus();
  };
  RETURN_IF_ERROR(MakeDirectories(Join(temp, kResume)));
  RETURN_IF_ERROR(stage("weights"));
  RETURN_IF_ERROR(SaveWeights(temp, policy.config, policy.weights, policy.weights.dtype()));
  RETURN_IF_ERROR(stage("files"));
  for (const auto& [name, content] : policy.companions) {
    RETURN_IF_ERROR(WriteFileAtomically(Join(temp, name), content));
  }
  RETURN_IF_ERROR(stage("optimizer"));
  json state = {{"format", 2},
                {"adam_steps", 0},
                {"learner", LearnerKind(policy)},
                {"base_model", policy.base_model}};
  if (const Learner* learner = policy.learner_if_any()) {
    state["adam_steps"] = learner->optimizer().steps();
    state["spike_guard"] = SpikeGuardToJson(learner->spike_guard().state());
    if (learner->loss_scale().has_value()) {
      state["loss_scale"] = LossScaleToJson(learner->loss_scale()->state());
    }
    RETURN_IF_ERROR(WriteState(gather, Join(temp, kOptimizer)));
    if (learner->lora() != nullptr) {
      RETURN_IF_ERROR(SaveAdapter(Join(temp, kAdapter), *learner->lora(), policy.base_model));
    }
  }
  RETURN_IF_ERROR(WriteFileAtomically(Join(temp, kState), state.dump() + "\n"));
  if (policy.last_update.has_value()) {
    RETURN_IF_ERROR(
        WriteFileAtomically(Join(temp, kLastUpdate), RepeatableBytes(*policy.last_update)));
  }
  RETURN_IF_ERROR(stage("manifest"));
  ASSIGN_OR_RETURN(*manifest, DigestDirectory(temp));
  RETURN_IF_ERROR(WriteFileAtomically(Join(temp, kManifestFile), ManifestToJson(*manifest)));
  return SyncDirectory(temp);
}

absl::Status ReadResume(const std::string& directory, Policy& policy) {
  const std::string manifest_path = Join(directory, kManifestFile);
  absl::StatusOr<std::string> text = ReadFile(manifest_path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, " has a resume folder but no readable manifest (",
                     text.status().message(), "); the checkpoint is damaged, use an older one"));
  }
  ASSIGN_OR_RETURN(const Manifest manifest, ParseManifest(*text, manifest_path));
  RETURN_IF_ERROR(VerifyDirectory(directory, manifest));

  const std::string state_path = Join(directory, kState);
  ASSIGN_OR_RETURN(const std::string state_text, ReadFile(state_path));
  const json state = json::parse(state_text, nullptr, /*allow_exceptions=*/false);
  if (!state.is_object() || state.value("format", json()) != 2 || !state.contains("adam_steps") ||
      !state["adam_steps"].is_number_unsigned()) {
    return absl::InvalidArgumentError(
        absl::StrCat(state_path, ": not a state of format 2; another version wrote it"));
  }
  if (manifest.contains(kOptimizer)) {
    policy.base_model = state.value("base_model", "");
    const json wanted = LearnerKind(policy), found = state.value("learner", json());
    if (found != wanted) {
      return absl::InvalidArgumentError(absl::StrCat(
          state_path, ": it was saved by a learner of ", found.dump(), " and this one is ",
          wanted.dump(), "; go on with the settings it was saved with"));
    }
    const RankGroup* const ranks = policy.learner_options.ranks;
    RETURN_IF_ERROR(ReadState(Join(directory, kOptimizer), ranks == nullptr ? 0 : ranks->rank(),
                              policy.learner()));
    policy.learner().optimizer().set_steps(state["adam_steps"].get<int64_t>());
    RETURN_IF_ERROR(ReadSpikeGuard(state, state_path, policy.learner().spike_guard()));
    if (std::optional<LossScale>& scale = policy.learner().loss_scale(); scale.has_value()) {
      RETURN_IF_ERROR(ReadLossScale(state, state_path, *scale));
    }
  }
  if (manifest.contains(kLastUpdate)) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(Join(directory, kLastUpdate)));
    v1::UpdateResponse last;
    if (!last.ParseFromString(bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Join(directory, kLastUpdate), ": not an UpdateResponse"));
    }
    policy.last_update = std::move(last);
  }
  return absl::OkStatus();
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
  if (fs::exists(directory) && !fs::exists(Join(directory, kManifestFile))) {
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

absl::Status RemoveCheckpoint(const std::string& directory) {
  std::error_code error;
  // Renamed first: half a checkpoint must not look like one. This one's removal was cut off.
  const std::string doomed = absl::StrCat(directory, ".tmp-removed");
  fs::remove_all(doomed, error);
  if (!fs::exists(directory, error)) return absl::OkStatus();
  if (!fs::exists(Join(directory, kManifestFile), error)) {
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

absl::StatusOr<std::unique_ptr<Policy>> LoadPolicy(const std::string& directory,
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
  if (fs::exists(Join(directory, kResume))) RETURN_IF_ERROR(ReadResume(directory, *policy));
  return policy;
}

}  // namespace whetstone
