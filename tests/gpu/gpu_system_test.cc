// The trainer as a program on the device that WHETSTONE_TEST_DEVICE names (cpu, unless it says
// cuda): served, launched as two ranks, and in a campaign. tests/gpu/run.sh runs it; each case is
// one of its checks.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/sha256.h"
#include "coordinator/process/child_process.h"
#include "gpu_trainer/rpc/tiny_model_testing.h"
#include "tests/system/whet_fixture.h"
#include "whetstone/v1/trainer.grpc.pb.h"

namespace whetstone {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

std::string Device() {
  const char* const name = std::getenv("WHETSTONE_TEST_DEVICE");
  return name != nullptr ? name : "cpu";
}
bool OnGpu() { return Device() == "cuda"; }

// Loading CUDA's libraries and starting NCCL take their time.
constexpr seconds kCallDeadline{180};

class ServeTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Make("gpu");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_ = std::make_unique<TempDir>(*std::move(dir));
    ASSERT_NO_FATAL_FAILURE(WriteTinyModel(Model()));
  }

  std::string Model() const { return dir_->path() + "/model"; }

  void Start(int ranks) {
    ChildOptions options;
    options.argv = {ProgramDirectory() + "/whet-trainer"};
    if (ranks > 1) {
      options.argv.insert(options.argv.end(), {"launch", "--nproc", absl::StrCat(ranks), "--"});
    }
    options.argv.insert(options.argv.end(),
                        {"serve", "--socket", dir_->path() + "/s", "--device", Device()});
    options.log_path = dir_->path() + "/log";
    absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(options);
    ASSERT_TRUE(child.ok()) << child.status();
    child_ = *std::move(child);
    const auto channel =
        grpc::CreateChannel("unix:" + dir_->path() + "/s", grpc::InsecureChannelCredentials());
    const auto end = system_clock::now() + kCallDeadline;
    while (!channel->WaitForConnected(system_clock::now() + std::chrono::milliseconds(200))) {
      ASSERT_FALSE(child_->Ended().has_value()) << *child_->Ended() << "\n" << Log();
      ASSERT_LT(system_clock::now(), end) << "nobody listens\n" << Log();
    }
    stub_ = v1::Trainer::NewStub(channel);
  }
  std::string Log() const { return LastLines(dir_->path() + "/log", 30); }

  static std::unique_ptr<grpc::ClientContext> Context() {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(system_clock::now() + kCallDeadline);
    return context;
  }
  template <typename Request, typename Response>
  void Call(grpc::Status (v1::Trainer::Stub::*method)(grpc::ClientContext*, const Request&,
                                                      Response*),
            const Request& request, Response* response) {
    const grpc::Status status = (stub_.get()->*method)(Context().get(), request, response);
    ASSERT_TRUE(status.ok()) << status.error_message() << "\n" << Log();
  }

  void Load() {
    v1::LoadCheckpointRequest request;
    request.set_path(Model());
    v1::LoadCheckpointResponse response;
    ASSERT_NO_FATAL_FAILURE(Call(&v1::Trainer::Stub::LoadCheckpoint, request, &response));
  }

  // A group of eight, profiled.
  void Generate(std::vector<int32_t>* prompt, std::map<int, v1::Completion>* completions) {
    v1::GenerateRequest request;
    request.set_seed(17);
    request.set_step(1);
    request.set_profile(true);
    request.mutable_sampling()->set_max_new_tokens(40);
    request.mutable_sampling()->set_temperature(1);
    request.mutable_sampling()->set_top_p(1);
    request.mutable_sampling()->set_ignore_eos(true);
    v1::PromptGroup& group = *request.add_groups();
    v1::Message& message = *group.add_messages();
    message.set_role("user");
    message.set_content("Make it faster.");
    for (int i = 0; i < 8; ++i) group.add_samples(i);
    const auto context = Context();
    const auto reader = stub_->Generate(context.get(), request);
    for (v1::GenerateEvent event; reader->Read(&event);) {
      if (event.has_prompt()) {
        prompt->assign(event.prompt().ids().begin(), event.prompt().ids().end());
      }
      if (event.has_completion()) (*completions)[event.completion().sample()] = event.completion();
    }
    const grpc::Status status = reader->Finish();
    ASSERT_TRUE(status.ok()) << status.error_message() << "\n" << Log();
    ASSERT_EQ(completions->size(), 8u);
  }

  // What was recorded while decoding is what a pass over the whole sequence says.
  void ExpectLogprobsOfAPrefill(const std::vector<int32_t>& prompt,
                                const std::map<int, v1::Completion>& completions) {
    v1::ScoreRequest request;
    for (const auto& [sample, completion] : completions) {
      v1::TokenSequence& sequence = *request.add_sequences();
      sequence.mutable_ids()->Assign(prompt.begin(), prompt.end());
      sequence.mutable_ids()->MergeFrom(completion.ids());
    }
    v1::ScoreResponse response;
    ASSERT_NO_FATAL_FAILURE(Call(&v1::Trainer::Stub::Score, request, &response));
    double sum = 0;
    int64_t count = 0;
    for (const auto& [sample, completion] : completions) {
      const auto& exact = response.sequences(sample).logprobs();
      const int begin = static_cast<int>(prompt.size()) - 1;
      for (int i = 0; i < completion.ids_size(); ++i, ++count) {
        sum += std::exp(std::abs(completion.sampling_logprobs(i) - exact[begin + i]));
      }
    }
    EXPECT_EQ(count, 8 * 40);
    EXPECT_LT(sum / static_cast<double>(count), 1.01) << "the bar of bf16";
  }

  v1::UpdateRequest Grpo(const std::vector<int32_t>& prompt,
                         const std::map<int, v1::Completion>& completions) {
    v1::UpdateRequest request;
    request.set_profile(true);
    request.mutable_name()->set_phase(v1::UpdateName::GRPO);
    request.mutable_name()->set_step(1);
    v1::OptimizerSettings& o = *request.mutable_optimizer();
    o.set_lr(1e-3);
    o.set_beta1(0.9);
    o.set_beta2(0.99);
    o.set_eps(1e-8);
    o.set_max_grad_norm(1);
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
    group.mutable_prompt_ids()->Assign(prompt.begin(), prompt.end());
    for (const auto& [sample, completion] : completions) {
      v1::Rollout& rollout = *group.add_rollouts();
      rollout.set_sample(sample);
      *rollout.mutable_ids() = completion.ids();
      *rollout.mutable_sampling_logprobs() = completion.sampling_logprobs();
      rollout.set_reward(sample);
    }
    return request;
  }

  // The checksum of the policy that an update makes of the model.
  void Learn(const v1::UpdateRequest& request, const std::string& name,
             v1::UpdateResponse* response, std::string* checksum) {
    ASSERT_NO_FATAL_FAILURE(Call(&v1::Trainer::Stub::Update, request, response));
    v1::SaveCheckpointRequest save;
    save.set_path(dir_->path() + "/" + name);
    v1::SaveCheckpointResponse saved;
    ASSERT_NO_FATAL_FAILURE(Call(&v1::Trainer::Stub::SaveCheckpoint, save, &saved));
    const absl::StatusOr<std::string> weights = ReadFile(save.path() + "/model.safetensors");
    ASSERT_TRUE(weights.ok()) << weights.status();
    *checksum = Sha256Hex(*weights);
  }

  void LoadGenerateUpdate(int ranks) {
    ASSERT_NO_FATAL_FAILURE(Start(ranks));
    const auto name = ReadFile(absl::StrCat("/proc/", child_->pid(), "/comm"));
    ASSERT_TRUE(name.ok()) << name.status();
    EXPECT_EQ(*name, "whet-trainer\n") << "by which `ps` and whoever waits for it finds it";
    v1::TrainerInfo info;
    ASSERT_NO_FATAL_FAILURE(Call(&v1::Trainer::Stub::GetInfo, v1::TrainerInfoRequest(), &info));
    EXPECT_EQ(info.device(), OnGpu() ? "cuda:0" : "cpu");
    EXPECT_EQ(info.world_size(), ranks);

    ASSERT_NO_FATAL_FAILURE(Load());
    std::vector<int32_t> prompt;
    std::map<int, v1::Completion> completions;
    ASSERT_NO_FATAL_FAILURE(Generate(&prompt, &completions));
    ASSERT_NO_FATAL_FAILURE(ExpectLogprobsOfAPrefill(prompt, completions));

    const v1::UpdateRequest request = Grpo(prompt, completions);
    v1::UpdateResponse first, second;
    std::string once, again;
    ASSERT_NO_FATAL_FAILURE(Learn(request, "once", &first, &once));
    EXPECT_TRUE(first.applied()) << first.skip_reason();
    EXPECT_GT(first.metrics().at("grad_norm"), 0);
    EXPECT_THAT(first.bottleneck(), testing::HasSubstr("The longest part is "));
    EXPECT_GT(first.metrics().at("profile/computed_s"), 0);
    // Two layers of 32 take no gibibyte: more would be the host's.
    EXPECT_GT(first.metrics().at("profile/peak_gib"), 0);
    if (OnGpu()) {
      EXPECT_LT(first.metrics().at("profile/peak_gib"), 1);
    }

    ASSERT_NO_FATAL_FAILURE(Load());
    ASSERT_NO_FATAL_FAILURE(Learn(request, "again", &second, &again));
    EXPECT_EQ(once, again) << "the same update of the same policy has other bits";
    child_->Stop(seconds(20));
    EXPECT_EQ(child_->Ended().value_or("running"), "exit code 0") << Log();
  }

  std::unique_ptr<TempDir> dir_;
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<v1::Trainer::Stub> stub_;
};

TEST_F(ServeTest, OneRank) { LoadGenerateUpdate(1); }

TEST_F(ServeTest, TwoRanks) { LoadGenerateUpdate(2); }

using GpuCampaignTest = WhetTest;

TEST_F(GpuCampaignTest, TwoSteps) {
  const std::string local = absl::StrCat("local: {threads: 1, dtype: ", OnGpu() ? "bf16" : "fp32",
                                         ", device: ", Device(), "}\n");
  const WhetResult run =
      Whet({"run", WriteCampaign(2, local), "--run-dir", RunDirectory(), "--json"}, seconds(300));
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  ExpectComplete(2);
}

}  // namespace
}  // namespace whetstone
