#include "gpu_trainer/checkpoint/resume_state.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/manifest.h"
#include "common/measured_metric.h"
#include "common/status_macros.h"
#include "gpu_trainer/checkpoint/optimizer_file.h"
#include "gpu_trainer/model/compute_type.h"

namespace whetstone {
namespace {

using nlohmann::json;

constexpr char kState[] = "resume/state.json";
constexpr char kOptimizer[] = "resume/optimizer.safetensors";
constexpr char kLastUpdate[] = "resume/last_update.pb";

json OutlierFilterToJson(const OutlierFilter::State& state) {
  return {{"norms", state.norms}, {"losses", state.losses}};
}

// Reads the key "spike_guard". Where it is missing, the filter never judged.
absl::Status ReadOutlierFilter(const json& state, const std::string& path, OutlierFilter& filter) {
  const json found = state.value("spike_guard", json::object());
  OutlierFilter::State out;
  for (const auto& [name, into] :
       {std::pair("norms", &out.norms), std::pair("losses", &out.losses)}) {
    const json values = found.is_object() ? found.value(name, json::array()) : json();
    const bool numbers =
        values.is_array() &&
        std::all_of(values.begin(), values.end(), [](const json& v) { return v.is_number(); });
    if (!numbers) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": spike_guard.", name, " is no list of numbers"));
    }
    *into = values.get<std::vector<double>>();
  }
  filter.set_state(std::move(out));
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

// Returns what must be the same for a checkpoint to go on, as {"dtype", "optimizer_state", "lora"}.
json LearnerKind(const Policy& policy) {
  json lora;
  if (const LoraSettings& l = policy.learner_options.lora; l.rank > 0) {
    lora = {{"rank", l.rank}, {"alpha", l.alpha}, {"targets", l.targets}};
  }
  return {{"dtype", ComputeTypeName(policy.weights.dtype())},
          {"optimizer_state", NameOf(policy.learner_options.optimizer_state)},
          {"lora", lora}};
}

// Returns the bytes of an update as a checkpoint keeps it. Equal runs write equal checkpoints: what
// was timed is left out, and metrics are in a fixed order.
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

}  // namespace

absl::Status WriteResumeState(const Policy& policy, StateGather& gathered,
                              const std::string& directory) {
  json state = {{"format", 2},
                {"adam_steps", 0},
                {"learner", LearnerKind(policy)},
                {"base_model", policy.base_model}};
  if (const Learner* learner = policy.learner_if_any()) {
    state["adam_steps"] = learner->optimizer().steps();
    state["spike_guard"] = OutlierFilterToJson(learner->outlier_filter().state());
    if (learner->loss_scale().has_value()) {
      state["loss_scale"] = LossScaleToJson(learner->loss_scale()->state());
    }
    RETURN_IF_ERROR(WriteOptimizerFile(gathered, absl::StrCat(directory, "/", kOptimizer)));
  }
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/", kState), state.dump() + "\n"));
  if (!policy.last_update.has_value()) return absl::OkStatus();
  return WriteFileAtomically(absl::StrCat(directory, "/", kLastUpdate),
                             RepeatableBytes(*policy.last_update));
}

absl::Status VerifyModelFiles(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kManifestFile);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(Manifest manifest, ParseManifest(text, path));
  std::erase_if(manifest, [](const auto& file) { return absl::StartsWith(file.first, "resume/"); });
  return VerifyDirectory(directory, manifest);
}

absl::Status ReadResumeState(const std::string& directory, Policy& policy) {
  const std::string manifest_path = absl::StrCat(directory, "/", kManifestFile);
  absl::StatusOr<std::string> text = ReadFile(manifest_path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, " has a resume folder but no readable manifest (",
                     text.status().message(), "); the checkpoint is damaged, use an older one"));
  }
  ASSIGN_OR_RETURN(const Manifest manifest, ParseManifest(*text, manifest_path));
  RETURN_IF_ERROR(VerifyDirectory(directory, manifest));

  const std::string state_path = absl::StrCat(directory, "/", kState);
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
      return absl::InvalidArgumentError(
          absl::StrCat(state_path, ": it was saved by a learner of ", found.dump(),
                       " and this one is ", wanted.dump(),
                       "; go on with the settings it was saved with (the dtype is local.dtype, or "
                       "--dtype of whet-trainer serve)"));
    }
    const RankGroup* const ranks = policy.learner_options.ranks;
    RETURN_IF_ERROR(ReadOptimizerFile(absl::StrCat(directory, "/", kOptimizer),
                                      ranks == nullptr ? 0 : ranks->rank(), policy.learner()));
    policy.learner().optimizer().set_steps(state["adam_steps"].get<int64_t>());
    RETURN_IF_ERROR(ReadOutlierFilter(state, state_path, policy.learner().outlier_filter()));
    if (std::optional<LossScale>& scale = policy.learner().loss_scale(); scale.has_value()) {
      RETURN_IF_ERROR(ReadLossScale(state, state_path, *scale));
    }
  }
  if (manifest.contains(kLastUpdate)) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(absl::StrCat(directory, "/", kLastUpdate)));
    v1::UpdateResponse last;
    if (!last.ParseFromString(bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat(absl::StrCat(directory, "/", kLastUpdate), ": not an UpdateResponse"));
    }
    policy.last_update = std::move(last);
  }
  return absl::OkStatus();
}

}  // namespace whetstone
