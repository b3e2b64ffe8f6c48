#include "gpu_trainer/rpc/trainer_service.h"

#include <ATen/Parallel.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "common/host.h"
#include "common/status_macros.h"
#include "gpu_trainer/grpo/learner_settings.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/profile/memory.h"
#include "gpu_trainer/profile/report.h"
#include "gpu_trainer/rpc/generate_stream.h"
#include "gpu_trainer/rpc/rpc_boundary.h"
#include "gpu_trainer/state/checkpoint.h"
#include "gpu_trainer/state/reference.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{200};
constexpr milliseconds kProgressEvery{1000};

std::string NameOf(const v1::UpdateName& name) {
  return absl::StrCat(name.phase() == v1::UpdateName::WARMUP ? "warm-up" : "GRPO", " step ",
                      name.step());
}

bool Same(const v1::UpdateName& a, const v1::UpdateName& b) {
  return a.phase() == b.phase() && a.step() == b.step();
}

// What may come after `last`: its successor, or the first step of another phase.
absl::Status CheckSuccessor(const std::optional<v1::UpdateResponse>& last,
                            const v1::UpdateName& name) {
  if (name.phase() != v1::UpdateName::WARMUP && name.phase() != v1::UpdateName::GRPO) {
    return absl::InvalidArgumentError("name.phase must be WARMUP or GRPO");
  }
  const bool same_phase = last.has_value() && last->name().phase() == name.phase();
  const int64_t wanted = same_phase ? last->name().step() + 1 : 1;
  if (name.step() == wanted) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(NameOf(name), " can not be applied: the last update of this policy is ",
                   last.has_value() ? NameOf(last->name()) : std::string("none"), ", so step ",
                   wanted, " is next; load the checkpoint this step follows"));
}

StepSettings SettingsOf(const v1::OptimizerSettings& o) {
  return {.adamw = {.lr = o.lr(),
                    .beta1 = o.beta1(),
                    .beta2 = o.beta2(),
                    .eps = o.eps(),
                    .weight_decay = o.weight_decay()},
          .max_grad_norm = o.max_grad_norm(),
          .spike_factor = o.spike_factor(),
          .grad_norm_per_layer = o.grad_norm_per_layer()};
}

// What the first update will take at most besides activations: gradients, moments and masters in
// fp32, 16 bytes a parameter. Later ones have it already.
int64_t UpdateBytesToCome(const Policy& policy) {
  return policy.learner_if_any() == nullptr ? 16 * policy.config.parameters() : 0;
}

absl::StatusOr<ChatOptions> ChatOptionsOf(const v1::ChatSettings& settings) {
  ChatOptions options;
  options.date = settings.date();
  const std::string& thinking = settings.thinking();
  if (thinking.empty() || thinking == "auto") return options;
  if (thinking != "on" && thinking != "off") {
    return absl::InvalidArgumentError(
        absl::StrCat("chat.thinking is '", thinking, "'; valid: auto, on, off"));
  }
  options.thinking = thinking == "on";
  return options;
}

GenerateSpec SpecOf(const v1::GenerateRequest& request) {
  GenerateSpec spec;
  spec.seed = request.seed();
  spec.step = request.step();
  const v1::SamplingParams& s = request.sampling();
  spec.sampling = {
      .max_new_tokens = s.max_new_tokens(),
      .temperature = s.temperature(),
      .top_p = s.top_p(),
      .top_k = s.top_k(),
      .min_p = s.min_p(),
      .penalties = {.repetition = s.repetition_penalty() == 0 ? 1 : s.repetition_penalty(),
                    .presence = s.presence_penalty(),
                    .frequency = s.frequency_penalty()},
      .stop = {s.stop().begin(), s.stop().end()},
      .stop_ids = {s.stop_ids().begin(), s.stop_ids().end()},
      .ignore_eos = s.ignore_eos(),
      .deadline_s = s.deadline_s()};
  spec.deterministic = request.deterministic();
  spec.memory.kv_bytes_max = request.kv_mib_max() << 20;
  spec.memory.sequences_max = request.sequences_max();
  return spec;
}

}  // namespace

TrainerService::TrainerService(const TrainerOptions& options)
    : options_(options), compute_(options.threads) {
  info_.set_version(WHETSTONE_VERSION);
  info_.set_host_id(HostId());
  info_.set_hostname(Hostname());
  info_.set_device(options.device.str());
  info_.set_dtype(ComputeTypeName(options.dtype));
  info_.set_threads(compute_.threads());
  info_.set_world_size(1);
}

absl::Status TrainerService::Run(grpc::ServerContext* context, std::string name,
                                 std::function<absl::Status()> work) {
  const ComputeThread::Ticket ticket = compute_.Submit(name, std::move(work));
  while (!ticket.WaitFor(kPoll)) {
    if (context != nullptr && context->IsCancelled()) {
      return absl::CancelledError(absl::StrCat(name, ": nobody waits for the answer any more"));
    }
  }
  return ticket.status();
}

absl::StatusOr<TrainerService::Model*> TrainerService::Loaded() const {
  if (model_ != nullptr) return model_.get();
  return absl::FailedPreconditionError("no policy is loaded; call LoadCheckpoint first");
}

grpc::Status TrainerService::GetInfo(grpc::ServerContext*, const v1::TrainerInfoRequest*,
                                     v1::TrainerInfo* response) {
  const std::lock_guard lock(info_mutex_);
  *response = info_;
  return grpc::Status::OK;
}

absl::Status TrainerService::Load(const v1::LoadCheckpointRequest& request) {
  return Run(/*context=*/nullptr, "LoadCheckpoint", [this, request] { return LoadNow(request); });
}

grpc::Status TrainerService::LoadCheckpoint(grpc::ServerContext*,
                                            const v1::LoadCheckpointRequest* request,
                                            v1::LoadCheckpointResponse* response) {
  const absl::Status status = Load(*request);
  if (!status.ok()) return ToGrpcStatus(status);
  const std::lock_guard lock(info_mutex_);
  *response->mutable_info() = info_;
  return grpc::Status::OK;
}

absl::Status TrainerService::LoadNow(const v1::LoadCheckpointRequest& request) {
  const std::string& directory = request.path();
  auto model = std::make_unique<Model>();
  ASSIGN_OR_RETURN(const LearnerOptions learner_options,
                   ParseLearnerSettings(request.learner(), options_.device));
  ASSIGN_OR_RETURN(model->policy,
                   LoadPolicy(directory, options_.dtype, options_.device, learner_options));
  ASSIGN_OR_RETURN(model->tokenizer, Tokenizer::Load(directory));
  ASSIGN_OR_RETURN(model->chat_options, ChatOptionsOf(request.chat()));
  model->chat = ChatFormat::Load(directory);
  if (!model->chat.ok() && !absl::IsNotFound(model->chat.status())) return model->chat.status();
  if (request.deterministic() && model->chat.ok() && model->chat->can_tell_today() &&
      model->chat_options.date.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the chat template of ", directory,
        " tells the model today's date, and another day the prompts would differ: with "
        "'deterministic', set chat.date, for example \"26 Jul 2024\""));
  }
  const Policy& policy = *model->policy;
  if (model->tokenizer->size() > policy.config.vocab) {
    return absl::InvalidArgumentError(absl::StrCat(
        directory, ": tokenizer.json has ", model->tokenizer->size(), " tokens but the model only ",
        policy.config.vocab, "; they do not belong together"));
  }
  model->engine = std::make_unique<Engine>(policy.config, policy.weights, *model->tokenizer);
  {
    const std::lock_guard lock(info_mutex_);
    info_.set_model(directory);
    info_.set_parameters(policy.config.parameters());
    info_.set_context_length(policy.config.context);
    info_.set_campaign_id(request.campaign_id());
    info_.clear_last_update();
    if (policy.last_update) *info_.mutable_last_update() = policy.last_update->name();
  }
  model_ = std::move(model);
  profile_ = {};
  spdlog::info("loaded {}: {:.1f} M parameters, {}", directory,
               static_cast<double>(model_->policy->config.parameters()) / 1e6,
               model_->policy->last_update ? NameOf(model_->policy->last_update->name())
                                           : std::string("not trained here yet"));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> TrainerService::PromptIds(
    const google::protobuf::RepeatedPtrField<v1::Message>& messages,
    const std::string& response_prefix) const {
  const PartScope scope(Part::kInput);
  if (!model_->chat.ok()) return model_->chat.status();
  std::vector<ChatMessage> chat;
  for (const v1::Message& message : messages) chat.push_back({message.role(), message.content()});
  ASSIGN_OR_RETURN(const std::string text,
                   model_->chat->Render(chat, ChatFormat::kGenerate, model_->chat_options));
  return model_->tokenizer->Encode(text + response_prefix);
}

grpc::Status TrainerService::Generate(grpc::ServerContext* context,
                                      const v1::GenerateRequest* request,
                                      grpc::ServerWriter<v1::GenerateEvent>* writer) {
  GenerateStream stream;
  const ComputeThread::Ticket ticket =
      compute_.Submit("Generate", [this, request, &stream]() -> absl::Status {
        if (stream.cancelled()) return absl::CancelledError("cancelled before it began");
        ASSIGN_OR_RETURN(Model* const model, Loaded());
        std::optional<ProfileCollection> collecting;
        if (request->profile()) collecting.emplace(&profile_.step);
        GenerateSpec spec = SpecOf(*request);
        spec.memory.reserved_bytes = UpdateBytesToCome(*model->policy);
        if (model->chat.ok()) {
          const std::optional<int32_t> end = model->tokenizer->IdOf(model->chat->end_of_turn());
          if (end.has_value()) spec.end_ids.push_back(*end);
        }
        for (const v1::PromptGroup& group : request->groups()) {
          ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                           PromptIds(group.messages(), group.response_prefix()));
          v1::GenerateEvent event;
          event.mutable_prompt()->set_problem(group.problem());
          event.mutable_prompt()->mutable_ids()->Assign(ids.begin(), ids.end());
          stream.Push(std::move(event));
          if (request->profile()) profile_.sequences += group.samples_size();
          spec.groups.push_back({.problem = group.problem(),
                                 .ids = std::move(ids),
                                 .samples = {group.samples().begin(), group.samples().end()}});
        }
        return model->engine->Generate(
            spec, {.on_completion =
                       [&stream](Completion completion) {
                         stream.Push(GenerateStream::EventOf(std::move(completion)));
                       },
                   .on_progress = [&stream](const GenerateStatus& s) { stream.SetStatus(s); },
                   .cancelled = [&stream] { return stream.cancelled(); }});
      });

  // `stream` and `request` are borrowed by the work: leave only when it is done.
  auto last_written = std::chrono::steady_clock::now();
  const auto write = [&](const v1::GenerateEvent& event) {
    if (!stream.cancelled() && !writer->Write(event)) stream.Cancel();
    last_written = std::chrono::steady_clock::now();
  };
  bool done = false;
  while (true) {
    // In this order: what was pushed before the end is seen after it.
    done = ticket.WaitFor(milliseconds(0));
    if (context->IsCancelled()) stream.Cancel();
    const std::optional<v1::GenerateEvent> event = stream.Next(done ? milliseconds(0) : kPoll);
    if (event.has_value()) {
      write(*event);
    } else if (done) {
      break;
    } else if (std::chrono::steady_clock::now() - last_written >= kProgressEvery) {
      write(stream.Progress());
    }
  }
  return ToGrpcStatus(ticket.status());
}

grpc::Status TrainerService::Update(grpc::ServerContext* context, const v1::UpdateRequest* request,
                                    v1::UpdateResponse* response) {
  // Shared: the work goes on when the server stops waiting for it.
  auto copy = std::make_shared<v1::UpdateRequest>(*request);
  auto result = std::make_shared<v1::UpdateResponse>();
  const absl::Status status =
      Run(context, "Update", [this, copy, result] { return UpdateNow(*copy, result.get()); });
  if (status.ok()) *response = *result;
  return ToGrpcStatus(status);
}

absl::Status TrainerService::UpdateNow(const v1::UpdateRequest& request,
                                       v1::UpdateResponse* response) {
  ASSIGN_OR_RETURN(Model* const model, Loaded());
  Policy& policy = *model->policy;
  if (policy.last_update.has_value() && Same(policy.last_update->name(), request.name())) {
    *response = *policy.last_update;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckSuccessor(policy.last_update, request.name()));
  // A new phase begins with fresh moments: those of the other loss say nothing about this one.
  if (request.name().step() == 1) policy.learner().BeginPhase();
  std::optional<ProfileCollection> collecting;
  if (request.profile()) collecting.emplace(&profile_.step);
  ASSIGN_OR_RETURN(const UpdateResult result, Learn(request));
  collecting.reset();

  *response->mutable_name() = request.name();
  response->set_applied(result.applied);
  response->set_skip_reason(result.skip_reason);
  response->mutable_metrics()->insert(result.metrics.begin(), result.metrics.end());
  if (request.profile()) AddProfile(response);
  profile_ = {};
  policy.last_update = *response;
  if (!result.skip_reason.empty()) {
    spdlog::warn("{}: {}{}", NameOf(request.name()),
                 result.applied ? "applied in part: " : "skipped: ", result.skip_reason);
  }
  const std::lock_guard lock(info_mutex_);
  *info_.mutable_last_update() = request.name();
  return absl::OkStatus();
}

void TrainerService::AddProfile(v1::UpdateResponse* response) {
  const ProfiledStep step{.profile = profile_.step,
                          .dtype = ComputeTypeName(options_.dtype),
                          .sequences = profile_.sequences,
                          .adapters_only = model_->policy->learner().lora() != nullptr,
                          .peak_bytes = PeakMemoryBytes(),
                          .headroom_bytes = FreeMemoryBytes()};
  if (!machine_.has_value()) {
    const auto start = std::chrono::steady_clock::now();
    machine_ = MeasureMachine(options_.device, /*seconds=*/1.5, {step.dtype});
    (*response->mutable_metrics())["profile/measure_machine_s"] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  const std::map<std::string, double> metrics = ReportMetrics(step, *machine_);
  response->mutable_metrics()->insert(metrics.begin(), metrics.end());
  response->set_bottleneck(Bottleneck(step, *machine_));
}

absl::StatusOr<UpdateResult> TrainerService::Learn(const v1::UpdateRequest& request) {
  Policy& policy = *model_->policy;
  Learner& learner = policy.learner();
  const StepSettings settings = SettingsOf(request.optimizer());
  if (request.has_grpo()) {
    const v1::GrpoSettings& grpo = request.grpo().settings();
    RETURN_IF_ERROR(HoldReference(grpo.kl_beta() > 0 ? grpo.kl_reference() : "", policy));
    return learner.Grpo(request.grpo(), settings, policy.reference.get());
  }
  if (request.has_sft()) {
    ASSIGN_OR_RETURN(const std::vector<LearnedSequence> sequences, Tokenize(request.sft()));
    return learner.Supervised(sequences, settings);
  }
  return absl::InvalidArgumentError("an update needs sft or grpo");
}

absl::StatusOr<std::vector<LearnedSequence>> TrainerService::Tokenize(
    const v1::SftBatch& batch) const {
  std::vector<LearnedSequence> sequences;
  const PartScope scope(Part::kInput);
  for (const v1::SftExample& example : batch.examples()) {
    // Prompt and answer are encoded apart, as they are when the answer is generated.
    ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                     PromptIds(example.messages(), example.response_prefix()));
    const int64_t learn_from = static_cast<int64_t>(ids.size());
    const std::vector<int32_t> answer =
        model_->tokenizer->Encode(example.response() + model_->chat->end_of_turn());
    ids.insert(ids.end(), answer.begin(), answer.end());
    sequences.push_back({.ids = std::move(ids), .learn_from = learn_from});
  }
  return sequences;
}

grpc::Status TrainerService::SaveCheckpoint(grpc::ServerContext*,
                                            const v1::SaveCheckpointRequest* request,
                                            v1::SaveCheckpointResponse* response) {
  const std::string path = request->path();
  auto saved = std::make_shared<SavedCheckpoint>();
  const ComputeThread::Ticket ticket =
      compute_.Submit("SaveCheckpoint", [this, path, saved]() -> absl::Status {
        ASSIGN_OR_RETURN(const Model* const model, Loaded());
        ASSIGN_OR_RETURN(*saved, whetstone::SaveCheckpoint(*model->policy, path));
        return absl::OkStatus();
      });
  while (!ticket.WaitFor(kPoll)) {
  }
  if (!ticket.status().ok()) return ToGrpcStatus(ticket.status());
  response->set_path(path);
  response->set_checksum(saved->checksum);
  response->set_bytes(saved->bytes);
  return grpc::Status::OK;
}

grpc::Status TrainerService::RemoveCheckpoints(grpc::ServerContext*,
                                               const v1::RemoveCheckpointsRequest* request,
                                               v1::RemoveCheckpointsResponse* response) {
  for (const std::string& path : request->paths()) {
    const absl::Status status = RemoveCheckpoint(path);
    if (!status.ok()) response->add_failures(std::string(status.message()));
  }
  return grpc::Status::OK;
}

grpc::Status TrainerService::Score(grpc::ServerContext* context, const v1::ScoreRequest* request,
                                   v1::ScoreResponse* response) {
  auto copy = std::make_shared<v1::ScoreRequest>(*request);
  auto result = std::make_shared<v1::ScoreResponse>();
  const absl::Status status = Run(context, "Score", [this, copy, result]() -> absl::Status {
    ASSIGN_OR_RETURN(Model* const model, Loaded());
    for (const v1::TokenSequence& sequence : copy->sequences()) {
      ASSIGN_OR_RETURN(const std::vector<float> logprobs,
                       model->engine->Score({sequence.ids().begin(), sequence.ids().end()}));
      result->add_sequences()->mutable_logprobs()->Assign(logprobs.begin(), logprobs.end());
    }
    return absl::OkStatus();
  });
  if (status.ok()) *response = std::move(*result);
  return ToGrpcStatus(status);
}

}  // namespace whetstone
