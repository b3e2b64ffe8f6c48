#include "gpu_trainer/rpc/trainer_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "common/file.h"
#include "common/manifest.h"
#include "gpu_trainer/profile/fake_gpu_testing.h"
#include "gpu_trainer/rpc/tiny_model_testing.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using grpc::StatusCode;
using ::testing::HasSubstr;

// The service runs on an in-process channel, over a tiny model.
class TrainerServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Make("rpc");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_ = std::make_unique<TempDir>(*std::move(dir));
    ASSERT_NO_FATAL_FAILURE(WriteTinyModel(Model()));
    Restart();
  }

  // Restart makes a fresh process, as far as the client can tell.
  void Restart(torch::ScalarType dtype = torch::kFloat) {
    stub_.reset();
    if (server_) server_->Shutdown();
    server_.reset();
    service_ = std::make_unique<TrainerService>(
        TrainerOptions{.device = torch::kCPU, .dtype = dtype, .threads = 2});
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = v1::Trainer::NewStub(server_->InProcessChannel({}));
  }

  std::string Model() const { return dir_->path() + "/model"; }
  std::string Path(const std::string& name) const { return dir_->path() + "/" + name; }

  grpc::Status Load(const std::string& path, v1::TrainerInfo* info = nullptr,
                    v1::LoadCheckpointRequest request = {}) {
    grpc::ClientContext context;
    request.set_path(path);
    v1::LoadCheckpointResponse response;
    const grpc::Status status = stub_->LoadCheckpoint(&context, request, &response);
    if (info != nullptr) *info = response.info();
    return status;
  }

  v1::TrainerInfo Info() {
    grpc::ClientContext context;
    v1::TrainerInfo info;
    EXPECT_TRUE(stub_->GetInfo(&context, {}, &info).ok());
    return info;
  }

  static v1::GenerateRequest Prompt(int samples, int tokens) {
    v1::GenerateRequest request;
    request.set_seed(17);
    request.set_step(1);
    request.mutable_sampling()->set_max_new_tokens(tokens);
    request.mutable_sampling()->set_temperature(1);
    request.mutable_sampling()->set_top_p(1);
    request.mutable_sampling()->set_ignore_eos(true);
    v1::PromptGroup& group = *request.add_groups();
    group.set_group_index(4);
    v1::Message& message = *group.add_messages();
    message.set_role("user");
    message.set_content("Make it faster.");
    group.set_response_prefix("```cpp");
    for (int i = 0; i < samples; ++i) group.add_samples(i);
    return request;
  }

  struct Generated {
    grpc::Status status;
    std::vector<int32_t> prompt;
    std::map<int, v1::Completion> completions;
  };
  Generated Generate(const v1::GenerateRequest& request) {
    grpc::ClientContext context;
    Generated result;
    const auto reader = stub_->Generate(&context, request);
    v1::GenerateEvent event;
    while (reader->Read(&event)) {
      if (event.has_prompt()) {
        EXPECT_TRUE(result.completions.empty()) << "the prompt comes before its completions";
        result.prompt.assign(event.prompt().ids().begin(), event.prompt().ids().end());
      }
      if (event.has_completion()) {
        result.completions[event.completion().sample()] = event.completion();
      }
    }
    result.status = reader->Finish();
    return result;
  }

  static v1::UpdateRequest Named(v1::UpdateName::Phase phase, int64_t step) {
    v1::UpdateRequest request;
    request.mutable_name()->set_phase(phase);
    request.mutable_name()->set_step(step);
    v1::OptimizerSettings& o = *request.mutable_optimizer();
    o.set_lr(1e-3);
    o.set_beta1(0.9);
    o.set_beta2(0.99);
    o.set_eps(1e-8);
    o.set_max_grad_norm(1);
    return request;
  }

  static v1::UpdateRequest Warmup(int64_t step) {
    v1::UpdateRequest request = Named(v1::UpdateName::WARMUP, step);
    for (const char* answer : {"int a = 1;", "float b = 2;"}) {
      v1::SftExample& example = *request.mutable_sft()->add_examples();
      v1::Message& message = *example.add_messages();
      message.set_role("user");
      message.set_content("Make it faster.");
      example.set_response_prefix("```cpp");
      example.set_response(answer);
    }
    return request;
  }

  static v1::UpdateRequest Grpo(int64_t step, const Generated& from) {
    v1::UpdateRequest request = Named(v1::UpdateName::GRPO, step);
    v1::GrpoSettings& s = *request.mutable_grpo()->mutable_settings();
    s.set_loss(v1::GrpoSettings::DAPO);
    s.set_clip_low(0.2);
    s.set_clip_high(0.28);
    s.set_advantage_scale(v1::GrpoSettings::GROUP);
    s.set_minibatches(1);
    s.set_importance(v1::GrpoSettings::TOKEN_TRUNCATE);
    s.set_importance_clip_max(2);
    s.set_temperature(1);
    v1::RolloutGroup& group = *request.mutable_grpo()->add_groups();
    group.mutable_prompt_ids()->Assign(from.prompt.begin(), from.prompt.end());
    for (const auto& [sample, completion] : from.completions) {
      v1::Rollout& rollout = *group.add_rollouts();
      rollout.set_sample(sample);
      *rollout.mutable_ids() = completion.ids();
      *rollout.mutable_sampling_logprobs() = completion.sampling_logprobs();
      rollout.set_reward(sample);
    }
    return request;
  }

  grpc::Status Update(const v1::UpdateRequest& request, v1::UpdateResponse* response) {
    grpc::ClientContext context;
    return stub_->Update(&context, request, response);
  }

  grpc::Status Save(const std::string& path, v1::SaveCheckpointResponse* response) {
    grpc::ClientContext context;
    v1::SaveCheckpointRequest request;
    request.set_path(path);
    return stub_->SaveCheckpoint(&context, request, response);
  }

  std::unique_ptr<TempDir> dir_;
  std::unique_ptr<TrainerService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Trainer::Stub> stub_;
};

TEST_F(TrainerServiceTest, WithoutAPolicyCallsSayWhatToDo) {
  EXPECT_EQ(Info().model(), "");
  v1::UpdateResponse response;
  const grpc::Status update = Update(Warmup(1), &response);
  EXPECT_EQ(update.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(update.error_message(), HasSubstr("LoadCheckpoint"));
  EXPECT_EQ(Generate(Prompt(1, 2)).status.error_code(), StatusCode::FAILED_PRECONDITION);
  const grpc::Status missing = Load(Path("nowhere"));
  EXPECT_EQ(missing.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(missing.error_message(), HasSubstr("nowhere"));
}

// A trainer's first load asks how much memory there is; nothing has touched the device before.
TEST_F(TrainerServiceTest, TheFirstLoadOnAGpuFindsItReady) {
  FakeGpus& gpus = FakeGpus::Get();
  gpus.free_bytes = 3 << 10;
  TrainerService service({.device = FakeGpus::device(1), .dtype = torch::kFloat, .threads = 1});
  v1::LoadCheckpointRequest request;
  request.set_path(Model());
  const absl::Status refused = service.Load(request);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(FakeGpus::device(1).str() + " has "));
  EXPECT_EQ(gpus.asked_from(), 1) << "the thread that computes has another current device";
}

TEST_F(TrainerServiceTest, SaysWhyAGpuIsNotUsed) {
  EXPECT_EQ(Info().unused_gpu(), "");
  TrainerService service({.threads = 1, .unused_gpu = "the driver is too old"});
  v1::TrainerInfo info;
  const v1::TrainerInfoRequest request;
  ASSERT_TRUE(service.GetInfo(nullptr, &request, &info).ok());
  EXPECT_EQ(info.unused_gpu(), "the driver is too old");
}

TEST_F(TrainerServiceTest, AFailedLoadKeepsThePolicyHeld) {
  ASSERT_TRUE(Load(Model()).ok());
  fs::copy(Model(), Path("broken"), fs::copy_options::recursive);
  fs::resize_file(Path("broken/model.safetensors"), 1000);
  EXPECT_EQ(Load(Path("broken")).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Info().model(), Model());
  EXPECT_TRUE(Generate(Prompt(1, 2)).status.ok());
}

TEST_F(TrainerServiceTest, SaysWhichBaseModelItLoaded) {
  v1::TrainerInfo first, again, changed;
  ASSERT_TRUE(Load(Model(), &first).ok());
  EXPECT_EQ(first.model_sha256().size(), 64u);
  ASSERT_TRUE(Load(Model(), &again).ok());
  EXPECT_EQ(again.model_sha256(), first.model_sha256());
  // One value of one weight is another.
  std::fstream file(Model() + "/model.safetensors", std::ios::in | std::ios::out);
  file.seekg(-4, std::ios::end);
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(-4, std::ios::end);
  file.put(byte);
  file.close();
  ASSERT_TRUE(Load(Model(), &changed).ok());
  EXPECT_NE(changed.model_sha256(), first.model_sha256());
}

TEST_F(TrainerServiceTest, GeneratesAsScored) {
  v1::TrainerInfo info;
  ASSERT_TRUE(Load(Model(), &info).ok());
  EXPECT_GT(info.parameters(), 49152 * 32);
  EXPECT_EQ(info.context_length(), 2048);
  EXPECT_EQ(info.dtype(), "fp32");
  EXPECT_FALSE(info.has_last_update());

  const Generated first = Generate(Prompt(3, 6));
  ASSERT_TRUE(first.status.ok()) << first.status.error_message();
  ASSERT_EQ(first.completions.size(), 3u);
  EXPECT_EQ(first.completions.at(0).group_index(), 4);
  const Generated again = Generate(Prompt(3, 6));
  grpc::ClientContext context;
  v1::ScoreRequest request;
  for (const auto& [sample, completion] : first.completions) {
    EXPECT_EQ(completion.ids_size(), 6);
    EXPECT_EQ(completion.SerializeAsString(), again.completions.at(sample).SerializeAsString());
    v1::TokenSequence& sequence = *request.add_sequences();
    sequence.mutable_ids()->Assign(first.prompt.begin(), first.prompt.end());
    sequence.mutable_ids()->MergeFrom(completion.ids());
  }
  v1::ScoreResponse response;
  ASSERT_TRUE(stub_->Score(&context, request, &response).ok());
  for (const auto& [sample, completion] : first.completions) {
    const auto& scored = response.sequences(sample).logprobs();
    for (int i = 0; i < 6; ++i) {
      EXPECT_NEAR(scored[static_cast<int>(first.prompt.size()) - 1 + i],
                  completion.sampling_logprobs(i), 1e-4);
    }
  }
}

TEST_F(TrainerServiceTest, ChatSettingsReachTheTemplate) {
  ASSERT_TRUE(WriteFileAtomically(Model() + "/chat_template.jinja",
                                  "{{ date_string }}|{{ enable_thinking is false }}|{{ "
                                  "messages[0].content }}")
                  .ok());
  ASSERT_TRUE(Load(Model()).ok());
  const size_t plain = Generate(Prompt(1, 1)).prompt.size();
  grpc::ClientContext context, wrong_context;
  v1::LoadCheckpointRequest request;
  request.set_path(Model());
  request.mutable_chat()->set_thinking("off");
  request.mutable_chat()->set_date("26 Jul 2024");
  v1::LoadCheckpointResponse response;
  ASSERT_TRUE(stub_->LoadCheckpoint(&context, request, &response).ok());
  EXPECT_GT(Generate(Prompt(1, 1)).prompt.size(), plain) << "the date";
  request.mutable_chat()->set_thinking("maybe");
  const grpc::Status wrong = stub_->LoadCheckpoint(&wrong_context, request, &response);
  EXPECT_THAT(wrong.error_message(), HasSubstr("valid: auto, on, off"));
}

TEST_F(TrainerServiceTest, WhatIsToBeRepeatedMayNotDependOnTheDay) {
  ASSERT_TRUE(WriteFileAtomically(Model() + "/chat_template.jinja",
                                  "{{ date_string or strftime_now('%d %b %Y') }}|"
                                  "{{ messages[0].content }}")
                  .ok());
  v1::LoadCheckpointRequest request;
  request.set_path(Model());
  request.set_deterministic(true);
  v1::LoadCheckpointResponse response;
  grpc::ClientContext today, fixed;
  EXPECT_THAT(stub_->LoadCheckpoint(&today, request, &response).error_message(),
              HasSubstr("set chat.date"));
  request.mutable_chat()->set_date("26 Jul 2024");
  EXPECT_TRUE(stub_->LoadCheckpoint(&fixed, request, &response).ok());
}

TEST_F(TrainerServiceTest, SamplingSettingsReachTheEngine) {
  ASSERT_TRUE(Load(Model()).ok());
  const Generated free = Generate(Prompt(2, 12));
  ASSERT_TRUE(free.status.ok()) << free.status.error_message();
  const v1::Completion& whole = free.completions.at(0);
  EXPECT_EQ(whole.finish(), v1::Completion::LENGTH);

  v1::GenerateRequest request = Prompt(2, 12);
  request.set_deterministic(true);
  request.mutable_sampling()->add_stop_ids(whole.ids(5));
  const v1::Completion stopped = Generate(request).completions.at(0);
  EXPECT_EQ(stopped.finish(), v1::Completion::STOP);
  EXPECT_LE(stopped.ids_size(), 6);
  EXPECT_EQ(*stopped.ids().rbegin(), whole.ids(5));

  request.mutable_sampling()->set_deadline_s(1e-9);
  EXPECT_EQ(Generate(request).status.error_code(), StatusCode::INVALID_ARGUMENT);
  request.set_deterministic(false);
  request.mutable_sampling()->clear_stop_ids();
  const v1::Completion late = Generate(request).completions.at(0);
  EXPECT_EQ(late.finish(), v1::Completion::DEADLINE);
  EXPECT_EQ(late.ids_size(), 1);

  // 2000 tokens of this model are 1.5 MiB.
  request = Prompt(1, 1900);
  request.set_kv_mib_max(1);
  EXPECT_EQ(Generate(request).status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  // One at a time, the samples are what they are together.
  request = Prompt(2, 12);
  request.set_sequences_max(1);
  EXPECT_EQ(Generate(request).completions.at(1).SerializeAsString(),
            free.completions.at(1).SerializeAsString());

  // Only the likeliest token is left: all samples are equal, and certain.
  request = Prompt(2, 12);
  request.mutable_sampling()->set_min_p(1);
  const Generated greedy = Generate(request);
  EXPECT_EQ(greedy.completions.at(0).ids(0), greedy.completions.at(1).ids(0));
  EXPECT_EQ(greedy.completions.at(0).sampling_logprobs(3), 0);
  // These "penalties" make whatever was seen overwhelmingly likely.
  for (const auto set :
       {&v1::SamplingParams::set_presence_penalty, &v1::SamplingParams::set_frequency_penalty}) {
    request = Prompt(1, 12);
    (request.mutable_sampling()->*set)(-1e6);
    const v1::Completion same = Generate(request).completions.at(0);
    EXPECT_EQ(std::set<int>(same.ids().begin(), same.ids().end()).size(), 1u);
  }
  request = Prompt(1, 12);
  request.mutable_sampling()->set_repetition_penalty(1e-6);
  const Generated seen = Generate(request);
  for (const int32_t id : seen.completions.at(0).ids()) {
    EXPECT_EQ(std::count(seen.prompt.begin(), seen.prompt.end(), id) > 0, true) << id;
  }
}

TEST_F(TrainerServiceTest, UpdatesAreIdempotentByNameAndInOrder) {
  ASSERT_TRUE(Load(Model()).ok());
  v1::UpdateResponse first, again, other;
  ASSERT_TRUE(Update(Warmup(1), &first).ok());
  EXPECT_TRUE(first.applied());
  EXPECT_GT(first.metrics().at("loss"), 1);
  ASSERT_TRUE(Update(Warmup(1), &again).ok());
  EXPECT_EQ(again.metrics().at("loss"), first.metrics().at("loss"));
  EXPECT_EQ(again.metrics().at("perf/tokens_per_s"), first.metrics().at("perf/tokens_per_s"))
      << "the recorded answer, not a second computation";
  const grpc::Status gap = Update(Warmup(3), &other);
  EXPECT_EQ(gap.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(gap.error_message(), HasSubstr("warm-up step 1"));
  ASSERT_TRUE(Update(Warmup(2), &other).ok());
  EXPECT_LT(other.metrics().at("loss"), first.metrics().at("loss"));

  // The next phase counts from 1, and what it learns from is on policy: no ratio moves.
  const Generated rollouts = Generate(Prompt(4, 5));
  v1::UpdateResponse grpo;
  ASSERT_TRUE(Update(Grpo(1, rollouts), &grpo).ok());
  EXPECT_NEAR(grpo.metrics().at("sampling/importance_sampling_ratio/mean"), 1, 1e-4);
  EXPECT_GT(grpo.metrics().at("grad_norm"), 0);
  EXPECT_EQ(Info().last_update().phase(), v1::UpdateName::GRPO);
  // New weights are used at once.
  EXPECT_NE(Generate(Prompt(4, 5)).completions.at(0).sampling_logprobs(0),
            rollouts.completions.at(0).sampling_logprobs(0));
}

TEST_F(TrainerServiceTest, AProfileOfTheStepIsAnsweredWhenAskedFor) {
  ASSERT_TRUE(Load(Model()).ok());
  v1::GenerateRequest prompt = Prompt(4, 5);
  const Generated unprofiled = Generate(prompt);
  v1::UpdateResponse plain, first, second;
  ASSERT_TRUE(Update(Grpo(1, unprofiled), &plain).ok());
  EXPECT_EQ(plain.bottleneck(), "");
  for (const auto& [key, value] : plain.metrics())
    EXPECT_FALSE(key.rfind("profile/", 0) == 0) << key;

  prompt.set_profile(true);
  v1::UpdateRequest request = Grpo(2, Generate(prompt));
  request.set_profile(true);
  ASSERT_TRUE(Update(request, &first).ok());
  const auto& metrics = first.metrics();
  double parts = 0;
  for (const char* part :
       {"input", "prefill", "decode_matmul", "decode_elementwise", "decode_attention", "sampling",
        "forward_matmul", "attention", "elementwise", "head", "backward_matmul",
        "attention_backward", "weight_gradient", "optimizer", "other"}) {
    const std::string key = std::string("profile/") + part + "_s";
    ASSERT_EQ(metrics.count(key), 1u) << key;
    parts += metrics.at(key);
  }
  EXPECT_NEAR(parts, metrics.at("profile/computed_s"), 1e-9) << "recompute is not needed here";
  for (const char* part : {"prefill", "decode_matmul", "decode_attention", "sampling", "head",
                           "elementwise", "weight_gradient", "optimizer"}) {
    EXPECT_GT(metrics.at(std::string("profile/") + part + "_roofline"), 0) << part;
  }
  EXPECT_GT(metrics.at("profile/mfu"), 0);
  EXPECT_GT(metrics.at("profile/headroom_gib"), 0);
  EXPECT_GT(metrics.at("profile/measure_machine_s"), 0);
  EXPECT_THAT(first.bottleneck(), HasSubstr("bound by"));

  // The machine is measured once, and a step begins with nothing of the one before it.
  request.mutable_name()->set_step(3);
  ASSERT_TRUE(Update(request, &second).ok());
  EXPECT_EQ(second.metrics().count("profile/measure_machine_s"), 0u);
  EXPECT_EQ(second.metrics().count("profile/decode_matmul_s"), 0u);
  EXPECT_EQ(second.metrics().count("profile/head_s"), 1u);
}

TEST_F(TrainerServiceTest, AKlPenaltyLoadsTheReferenceItNames) {
  ASSERT_TRUE(Load(Model()).ok());
  const Generated rollouts = Generate(Prompt(4, 5));
  v1::UpdateRequest request = Grpo(1, rollouts);
  v1::GrpoSettings& s = *request.mutable_grpo()->mutable_settings();
  s.set_kl_reference(Path("nowhere"));
  v1::UpdateResponse response;
  ASSERT_TRUE(Update(request, &response).ok()) << "without a penalty no reference is loaded";
  EXPECT_EQ(response.metrics().count("kl"), 0u);
  request.mutable_name()->set_step(2);
  s.set_kl_beta(0.1);
  EXPECT_EQ(Update(request, &response).error_code(), StatusCode::NOT_FOUND);
  s.set_kl_reference(Model());
  ASSERT_TRUE(Update(request, &response).ok());
  EXPECT_GT(response.metrics().at("kl"), 0) << "k3 of a policy that has moved once";
}

TEST_F(TrainerServiceTest, ASavedPolicyGoesOnInAnotherProcess) {
  ASSERT_TRUE(Load(Model()).ok());
  v1::UpdateResponse first, second, repeated, resumed;
  ASSERT_TRUE(Update(Warmup(1), &first).ok());
  v1::SaveCheckpointResponse saved;
  ASSERT_TRUE(Save(Path("step-1"), &saved).ok());
  EXPECT_EQ(saved.checksum().size(), 64u);
  ASSERT_TRUE(Update(Warmup(2), &second).ok());

  Restart();
  v1::TrainerInfo info;
  ASSERT_TRUE(Load(Path("step-1"), &info).ok());
  EXPECT_EQ(info.last_update().step(), 1);
  EXPECT_EQ(Update(Warmup(1), &repeated).error_code(), StatusCode::FAILED_PRECONDITION)
      << "nobody knows any more what it learned from";
  ASSERT_TRUE(Update(Warmup(2), &resumed).ok());
  EXPECT_EQ(resumed.metrics().at("loss"), second.metrics().at("loss"));
  EXPECT_EQ(resumed.metrics().at("grad_norm"), second.metrics().at("grad_norm"));
}

TEST_F(TrainerServiceTest, OfACheckpointTheModelAloneCanBeRead) {
  v1::UpdateResponse first;
  v1::SaveCheckpointResponse saved;
  ASSERT_TRUE(Load(Model()).ok() && Update(Warmup(1), &first).ok() && Save(Path("a"), &saved).ok());
  v1::LoadCheckpointRequest request;
  request.mutable_learner()->set_optimizer_state("8bit");
  EXPECT_EQ(Load(Path("a"), nullptr, request).error_code(), StatusCode::INVALID_ARGUMENT);
  request.set_weights_only(true);
  EXPECT_TRUE(Load(Path("a"), nullptr, request).ok() && !Info().has_last_update());
}

TEST_F(TrainerServiceTest, ACheckpointIsReadPieceByPieceAndNothingElseIs) {
  ASSERT_TRUE(Load(Model()).ok());
  v1::SaveCheckpointResponse saved;
  ASSERT_TRUE(Save(Path("step-1"), &saved).ok());
  v1::ReadCheckpointRequest request;
  v1::ReadCheckpointResponse response;
  const auto read = [&](const std::string& path, const std::string& file, int64_t offset,
                        int64_t length) {
    grpc::ClientContext context;
    request.set_path(path);
    request.set_file(file);
    request.set_offset(offset);
    request.set_length(length);
    response.Clear();
    return stub_->ReadCheckpoint(&context, request, &response).error_code();
  };
  ASSERT_EQ(read(Path("step-1"), kManifestFile, 0, 1 << 20), StatusCode::OK);
  const absl::StatusOr<Manifest> manifest = ParseManifest(response.data(), "manifest");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(ChecksumOf(*manifest), saved.checksum());
  const std::string weights = *ReadFile(Path("step-1/model.safetensors"));
  std::string pieces;
  do {
    const int64_t have = static_cast<int64_t>(pieces.size());
    ASSERT_EQ(read(Path("step-1"), "model.safetensors", have, 10000), StatusCode::OK);
    pieces += response.data();
  } while (response.data().size() == 10000);
  EXPECT_EQ(pieces, weights);

  ASSERT_TRUE(WriteFileAtomically(Path("secret"), "s").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("step-1/other"), "o").ok());
  EXPECT_EQ(read(Path("step-1"), "../secret", 0, 10), StatusCode::NOT_FOUND);
  EXPECT_EQ(read(Path("step-1"), "other", 0, 10), StatusCode::NOT_FOUND) << "not in its list";
  EXPECT_EQ(read(Model(), "config.json", 0, 10), StatusCode::NOT_FOUND) << "not a checkpoint";
  EXPECT_EQ(read(Path("step-2"), kManifestFile, 0, 10), StatusCode::NOT_FOUND);
  EXPECT_EQ(read("step-1", kManifestFile, 0, 10), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(read(Path("step-1"), kManifestFile, -1, 10), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(read(Path("step-1"), kManifestFile, 0, 1 << 30), StatusCode::INVALID_ARGUMENT);
  // A link that took a file's place leads nowhere.
  fs::remove(Path("step-1/config.json"));
  fs::create_symlink(Path("secret"), Path("step-1/config.json"));
  EXPECT_NE(read(Path("step-1"), "config.json", 0, 10), StatusCode::OK);
}

TEST_F(TrainerServiceTest, InfoAnswersDuringGenerationAndCancellingStopsIt) {
  ASSERT_TRUE(Load(Model()).ok());
  grpc::ClientContext context;
  const auto reader = stub_->Generate(&context, Prompt(64, 1900));
  v1::GenerateEvent event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_TRUE(event.has_prompt());
  while (service_->Busy() != "Generate") std::this_thread::yield();
  EXPECT_EQ(Info().model(), Model());
  grpc::ClientContext inspect_context;
  v1::InspectModelRequest inspect;
  inspect.set_model(Model());
  v1::InspectModelResponse inspected;
  ASSERT_TRUE(stub_->InspectModel(&inspect_context, inspect, &inspected).ok());
  EXPECT_EQ(inspected.model().family(), "llama") << inspected.ShortDebugString();
  EXPECT_EQ(service_->Busy(), "Generate") << "GetInfo or InspectModel waited for the generation";
  context.TryCancel();
  while (reader->Read(&event)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::CANCELLED);
  // Another call gets its turn, which an uncancelled decoder would not give for minutes.
  EXPECT_TRUE(Generate(Prompt(1, 2)).status.ok());
}

// The model is the quickstart's, in the type it trains in: it must have been set up.
TEST_F(TrainerServiceTest, TheRealModelLearnsAnAnswer) {
  Restart(torch::kBFloat16);
  v1::TrainerInfo info;
  const grpc::Status loaded = Load(RealModel(), &info);
  ASSERT_TRUE(loaded.ok()) << loaded.error_message();
  EXPECT_EQ(info.parameters(), 134515008);
  const Generated rollouts = Generate(Prompt(2, 8));
  ASSERT_TRUE(rollouts.status.ok()) << rollouts.status.error_message();
  v1::UpdateResponse grpo, first, second;
  v1::UpdateRequest step = Grpo(1, rollouts);
  step.mutable_optimizer()->set_lr(0);
  ASSERT_TRUE(Update(step, &grpo).ok());
  EXPECT_TRUE(grpo.applied()) << grpo.skip_reason();
  // Learning and sampling see the same distribution, but for bf16 rounding.
  EXPECT_LT(grpo.metrics().at("sampling/sampling_logp_difference/mean"), 0.05);
  v1::UpdateRequest warmup = Warmup(1);
  warmup.mutable_optimizer()->set_lr(1e-4);
  ASSERT_TRUE(Update(warmup, &first).ok());
  warmup.mutable_name()->set_step(2);
  ASSERT_TRUE(Update(warmup, &second).ok());
  EXPECT_LT(second.metrics().at("loss"), 0.8 * first.metrics().at("loss"));
}

TEST_F(TrainerServiceTest, AModelThatCannotReadIsNotLoaded) {
  ASSERT_TRUE(WriteFileAtomically(Model() + "/tokenizer.json",
                                  R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})")
                  .ok());
  const grpc::Status status = Load(Model());
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("text does not survive"));
}

TEST_F(TrainerServiceTest, BadRequestsAreNamed) {
  ASSERT_TRUE(Load(Model()).ok());
  v1::UpdateResponse response;
  const grpc::Status empty = Update(Named(v1::UpdateName::GRPO, 1), &response);
  EXPECT_EQ(empty.error_code(), StatusCode::INVALID_ARGUMENT);
  v1::UpdateRequest long_one = Warmup(1);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += " word";
  long_one.mutable_sft()->mutable_examples(1)->set_response(text);
  const grpc::Status too_long = Update(long_one, &response);
  EXPECT_EQ(too_long.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(too_long.error_message(), HasSubstr("example 1"));
  v1::SaveCheckpointResponse saved;
  EXPECT_FALSE(Save("/proc/nothing/here", &saved).ok());
  // The trainer goes on after that.
  EXPECT_TRUE(Update(Warmup(1), &response).ok());
}

}  // namespace
}  // namespace whetstone
