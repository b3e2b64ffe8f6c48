#include "gpu_trainer/rpc/trainer_state.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/host.h"
#include "common/manifest.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "gpu_trainer/checkpoint/kl_reference.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/profile/device_memory.h"
#include "gpu_trainer/profile/event_clock.h"
#include "gpu_trainer/profile/report.h"
#include "gpu_trainer/rpc/memory_need.h"
#include "gpu_trainer/rpc/model_facts.h"
#include "gpu_trainer/rpc/request_settings.h"
#include "gpu_trainer/rpc/sample_partition.h"
#include "gpu_trainer/rpc/update_order.h"
#include "gpu_trainer/train/learner/learner_settings.h"

namespace whetstone {
namespace {

// Returns the bytes that the first update will take besides activations. Later ones have them
// already.
int64_t UpdateBytesToCome(const Policy& policy) {
  if (policy.learner_if_any() != nullptr) return 0;
  return NeedOf(policy.config, policy.weights.dtype(), policy.learner_options).learning();
}

// Returns the bytes that become free when another policy takes this one's place.
int64_t BytesOf(const Policy& policy) {
  const MemoryNeed need = NeedOf(policy.config, policy.weights.dtype(), policy.learner_options);
  return need.weights + (policy.learner_if_any() != nullptr ? need.learning() : 0);
}

}  // namespace

TrainerState::TrainerState(torch::Device device, torch::ScalarType dtype, RankGroup& ranks)
    : device_(device), dtype_(dtype), ranks_(ranks), clock_(MakeDeviceClock(device)) {
  info_.set_version(WHETSTONE_VERSION);
  info_.set_host_id(HostId());
  info_.set_hostname(Hostname());
  info_.set_device(device.str());
  info_.set_dtype(ComputeTypeName(dtype));
  info_.set_world_size(ranks.size());
}

v1::TrainerInfo TrainerState::Info() const {
  const std::lock_guard lock(info_mutex_);
  v1::TrainerInfo info = info_;
  info.set_unix_time(UnixSeconds());
  return info;
}

absl::StatusOr<TrainerState::Model*> TrainerState::Loaded() const {
  if (model_ != nullptr) return model_.get();
  return absl::FailedPreconditionError("no policy is loaded; call LoadCheckpoint first");
}

absl::Status TrainerState::Read(const v1::LoadCheckpointRequest& request, Model* model) const {
  const std::string& directory = request.path();
  if (!request.expected_checksum().empty()) {
    RETURN_IF_ERROR(CheckChecksum(directory, request.expected_checksum()));
  }
  ASSIGN_OR_RETURN(LearnerOptions learner_options,
                   ParseLearnerSettings(request.learner(), device_));
  learner_options.ranks = &ranks_;
  // An error is LoadPolicy's to tell.
  if (const absl::StatusOr<ModelConfig> config = LoadModelConfig(directory); config.ok()) {
    const int64_t free = FreeTensorBytes(device_) / ranks_.sharing(device_) +
                         (model_ != nullptr ? BytesOf(*model_->policy) : 0);
    RETURN_IF_ERROR(CheckMemory(*config, dtype_, learner_options, device_, free));
  }
  const auto load = request.weights_only() ? &LoadPolicyModel : &LoadPolicy;
  ASSIGN_OR_RETURN(model->policy, load(directory, dtype_, device_, learner_options));
  const Policy& policy = *model->policy;
  ASSIGN_OR_RETURN(model->text, LoadModelText(directory, policy.config, request.chat(),
                                              request.deterministic()));
  model->engine = std::make_unique<Engine>(policy.config, policy.weights, *model->text.tokenizer);
  return absl::OkStatus();
}

absl::Status TrainerState::Load(const v1::LoadCheckpointRequest& request) {
  // The base model's files are read once more for their checksum, beside the loading, which takes
  // longer. A checkpoint has a manifest.
  std::future<absl::StatusOr<Manifest>> digests;
  std::error_code error;
  if (ranks_.rank() == 0 && !std::filesystem::exists(request.path() + "/" + kManifestFile, error)) {
    digests = std::async(std::launch::async, &DigestModel, request.path());
  }
  auto model = std::make_unique<Model>();
  RETURN_IF_ERROR(
      ranks_.StatusBarrier("reading the model", [&] { return Read(request, model.get()); }));
  if (!ranks_.alone()) RETURN_IF_ERROR(ranks_.CheckEqual(FactsOf(*model->policy)));
  std::string model_sha256;
  if (digests.valid()) {
    const absl::StatusOr<Manifest> manifest = digests.get();
    if (manifest.ok()) {
      model_sha256 = ChecksumOf(*manifest);
    } else {
      spdlog::warn("no checksum of the model: {}", std::string(manifest.status().message()));
    }
  }
  const Policy& policy = *model->policy;
  {
    const std::lock_guard lock(info_mutex_);
    info_.set_model_sha256(model_sha256);
    info_.set_model(request.path());
    info_.set_parameters(policy.config.parameters());
    info_.set_context_length(policy.config.context);
    info_.set_campaign_id(request.campaign_id());
    info_.clear_last_update();
    if (policy.last_update) *info_.mutable_last_update() = policy.last_update->name();
  }
  model_ = std::move(model);
  profile_ = {};
  spdlog::info("loaded {}: {:.1f} M parameters, {}", request.path(),
               static_cast<double>(model_->policy->config.parameters()) / 1e6,
               model_->policy->last_update ? UpdateText(model_->policy->last_update->name())
                                           : std::string("not trained here yet"));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> TrainerState::PromptIds(
    const ModelText::Messages& messages, const std::string& response_prefix) const {
  const PartScope scope(Part::kInput);
  return model_->text.PromptIds(messages, response_prefix);
}

absl::Status TrainerState::Generate(const v1::GenerateRequest& request,
                                    const std::function<void(v1::GenerateEvent)>& on_prompt,
                                    const GenerateSink& sink) {
  ASSIGN_OR_RETURN(Model* const model, Loaded());
  std::optional<ProfileCollection> collecting;
  if (request.profile()) collecting.emplace(&profile_.step, /*trace=*/nullptr, clock_.get());
  GenerateSpec spec = GenerateSpecOf(request);
  const SamplingSpec& sampling = spec.sampling;
  profile_.truncates = sampling.top_p < 1 || sampling.top_k > 0 || sampling.min_p > 0;
  spec.memory.processes = ranks_.sharing(device_);
  spec.memory.reserved_bytes = spec.memory.processes * UpdateBytesToCome(*model->policy);
  if (const ModelText& text = model->text; text.chat.ok()) {
    const std::optional<int32_t> end = text.tokenizer->IdOf(text.chat->end_of_turn());
    if (end.has_value()) spec.end_ids.push_back(*end);
  }
  const std::vector<std::vector<int32_t>> mine =
      SamplesOfRank(request, ranks_.rank(), ranks_.size());
  for (int g = 0; g < request.groups_size(); ++g) {
    const v1::PromptGroup& group = request.groups(g);
    ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                     PromptIds(group.messages(), group.response_prefix()));
    if (on_prompt) {
      v1::GenerateEvent event;
      event.mutable_prompt()->set_group_index(group.group_index());
      event.mutable_prompt()->mutable_ids()->Assign(ids.begin(), ids.end());
      on_prompt(std::move(event));
    }
    const std::vector<int32_t>& samples = mine[static_cast<size_t>(g)];
    if (samples.empty() && group.samples_size() > 0) continue;  // They are another rank's.
    if (request.profile()) profile_.sequences += static_cast<int64_t>(samples.size());
    spec.groups.push_back(
        {.group_index = group.group_index(), .ids = std::move(ids), .samples = samples});
  }
  return model->engine->Generate(spec, sink);
}

absl::Status TrainerState::Update(const v1::UpdateRequest& request, v1::UpdateResponse* response) {
  ASSIGN_OR_RETURN(Model* const model, Loaded());
  Policy& policy = *model->policy;
  const std::string content = Sha256Hex(request.SerializeAsString());
  if (policy.last_update.has_value() && SameUpdate(policy.last_update->name(), request.name())) {
    if (content != model->last_request) {
      return absl::FailedPreconditionError(absl::StrCat(
          UpdateText(request.name()), " was applied to this policy already, ",
          model->last_request.empty() ? "before it was saved and loaded" : "with another content",
          "; load the checkpoint this step follows"));
    }
    *response = *policy.last_update;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckSuccessor(policy.last_update, request.name()));
  std::optional<ProfileCollection> collecting;
  if (request.profile()) collecting.emplace(&profile_.step, /*trace=*/nullptr, clock_.get());
  ASSIGN_OR_RETURN(const UpdateResult result, Learn(request));
  collecting.reset();

  *response->mutable_name() = request.name();
  response->set_applied(result.applied);
  response->set_skip_reason(result.skip_reason);
  response->mutable_metrics()->insert(result.metrics.begin(), result.metrics.end());
  // Sums over another number of ranks have other last bits.
  (*response->mutable_metrics())["perf/ranks"] = ranks_.size();
  if (request.profile()) AddProfile(response);
  profile_ = {};
  policy.last_update = *response;
  model->last_request = content;
  if (!result.skip_reason.empty()) {
    spdlog::warn("{}: {}{}", UpdateText(request.name()),
                 result.applied ? "applied in part: " : "skipped: ", result.skip_reason);
  }
  const std::lock_guard lock(info_mutex_);
  *info_.mutable_last_update() = request.name();
  return absl::OkStatus();
}

void TrainerState::AddProfile(v1::UpdateResponse* response) {
  const MemoryUse memory = MemoryUseOf(device_);
  const ProfiledStep step{.profile = profile_.step,
                          .dtype = ComputeTypeName(dtype_),
                          .sequences = profile_.sequences,
                          .adapters_only = model_->policy->learner().lora() != nullptr,
                          .on_gpu = !device_.is_cpu(),
                          .truncates = profile_.truncates,
                          .peak_bytes = memory.peak_bytes,
                          .headroom_bytes = memory.headroom_bytes};
  if (!machine_.has_value()) {
    const auto start = std::chrono::steady_clock::now();
    machine_ = MeasureMachine(device_, /*seconds=*/1.5, {step.dtype});
    (*response->mutable_metrics())["profile/measure_machine_s"] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  const std::map<std::string, double> metrics = ReportMetrics(step, *machine_);
  response->mutable_metrics()->insert(metrics.begin(), metrics.end());
  response->set_bottleneck(Bottleneck(step, *machine_));
}

absl::StatusOr<UpdateResult> TrainerState::Learn(const v1::UpdateRequest& request) {
  Policy& policy = *model_->policy;
  RETURN_IF_ERROR(ranks_.StatusBarrier("preparing the update", [&] {
    policy.learner();  // Gradients and moments need memory.
    const v1::GrpoSettings& grpo = request.grpo().settings();
    return request.has_grpo()
               ? SetKlReference(grpo.kl_beta() > 0 ? grpo.kl_reference() : "", policy)
               : absl::OkStatus();
  }));
  Learner& learner = policy.learner();
  // A new phase begins with fresh moments: those of the other loss say nothing about this one.
  if (request.name().step() == 1) learner.BeginPhase();
  const StepSettings settings = StepSettingsOf(request.optimizer());
  if (request.has_grpo()) {
    return learner.Grpo(request.grpo(), settings, policy.reference.get());
  }
  if (request.has_sft()) {
    ASSIGN_OR_RETURN(const std::vector<LearnedSequence> sequences, Tokenize(request.sft()));
    return learner.Supervised(sequences, settings);
  }
  return absl::InvalidArgumentError("an update needs sft or grpo");
}

absl::StatusOr<std::vector<LearnedSequence>> TrainerState::Tokenize(
    const v1::SftBatch& batch) const {
  std::vector<LearnedSequence> sequences;
  const PartScope scope(Part::kInput);
  for (const v1::SftExample& example : batch.examples()) {
    // Prompt and answer are encoded apart, as they are when the answer is generated.
    ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                     PromptIds(example.messages(), example.response_prefix()));
    const int64_t learn_from = static_cast<int64_t>(ids.size());
    const std::vector<int32_t> answer =
        model_->text.tokenizer->Encode(example.response() + model_->text.chat->end_of_turn());
    ids.insert(ids.end(), answer.begin(), answer.end());
    sequences.push_back({.ids = std::move(ids), .learn_from = learn_from});
  }
  return sequences;
}

absl::StatusOr<SavedCheckpoint> TrainerState::Save(const std::string& path) const {
  ASSIGN_OR_RETURN(const Model* const model, Loaded());
  return SaveCheckpoint(*model->policy, path);
}

absl::Status TrainerState::Score(const v1::ScoreRequest& request, v1::ScoreResponse* response) {
  ASSIGN_OR_RETURN(Model* const model, Loaded());
  for (const v1::TokenSequence& sequence : request.sequences()) {
    ASSIGN_OR_RETURN(const std::vector<float> logprobs,
                     model->engine->Score({sequence.ids().begin(), sequence.ids().end()}));
    response->add_sequences()->mutable_logprobs()->Assign(logprobs.begin(), logprobs.end());
  }
  return absl::OkStatus();
}

}  // namespace whetstone
