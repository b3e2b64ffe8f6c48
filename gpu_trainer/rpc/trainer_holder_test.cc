// Who may do what with a trainer's policy: two campaigns, and two processes of one.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/unique_fd.h"
#include "gpu_trainer/rpc/tiny_model_testing.h"
#include "gpu_trainer/rpc/trainer_service.h"

namespace whetstone {
namespace {

using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TrainerHolderTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Make("holder");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_ = std::make_unique<TempDir>(*std::move(dir));
    ASSERT_NO_FATAL_FAILURE(WriteTinyModel(Path("model")));
    service_ = std::make_unique<TrainerService>(
        TrainerOptions{.device = torch::kCPU, .dtype = torch::kFloat, .threads = 2});
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = v1::Trainer::NewStub(server_->InProcessChannel({}));
  }

  std::string Path(const std::string& name) const { return dir_->path() + "/" + name; }

  static v1::LoadCheckpointRequest Of(const std::string& campaign, const std::string& path) {
    v1::LoadCheckpointRequest request;
    request.set_campaign_id(campaign);
    request.set_path(path);
    return request;
  }
  // Puts what was answered into response_.
  grpc::Status Load(const v1::LoadCheckpointRequest& request) {
    grpc::ClientContext context;
    response_.Clear();
    return stub_->LoadCheckpoint(&context, request, &response_);
  }
  v1::Holder Loaded(const v1::LoadCheckpointRequest& request) {
    const grpc::Status status = Load(request);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response_.holder().campaign_id(), request.campaign_id());
    EXPECT_NE(response_.holder().epoch(), 0u);
    return response_.holder();
  }
  v1::TrainerInfo Info(const v1::Holder& holder = {}, bool release = false) {
    grpc::ClientContext context;
    v1::TrainerInfoRequest request;
    *request.mutable_holder() = holder;
    request.set_release(release);
    v1::TrainerInfo info;
    EXPECT_TRUE(stub_->GetInfo(&context, request, &info).ok());
    return info;
  }

  grpc::Status Update(const v1::Holder& holder, int64_t step, const std::string& answer,
                      v1::UpdateResponse* response = nullptr) {
    v1::UpdateRequest request;
    *request.mutable_holder() = holder;
    request.mutable_name()->set_phase(v1::UpdateName::WARMUP);
    request.mutable_name()->set_step(step);
    v1::OptimizerSettings& o = *request.mutable_optimizer();
    o.set_lr(1e-3);
    o.set_beta1(0.9);
    o.set_beta2(0.99);
    o.set_eps(1e-8);
    v1::SftExample& example = *request.mutable_sft()->add_examples();
    v1::Message& message = *example.add_messages();
    message.set_role("user");
    message.set_content("Make it faster.");
    example.set_response(answer);
    grpc::ClientContext context;
    v1::UpdateResponse ignored;
    return stub_->Update(&context, request, response != nullptr ? response : &ignored);
  }
  grpc::Status Save(const v1::Holder& holder, const std::string& path, std::string* checksum) {
    grpc::ClientContext context;
    v1::SaveCheckpointRequest request;
    *request.mutable_holder() = holder;
    request.set_path(path);
    v1::SaveCheckpointResponse response;
    const grpc::Status status = stub_->SaveCheckpoint(&context, request, &response);
    *checksum = response.checksum();
    return status;
  }
  grpc::Status Remove(const v1::Holder& holder, const std::string& path) {
    grpc::ClientContext context;
    v1::RemoveCheckpointsRequest request;
    *request.mutable_holder() = holder;
    request.add_paths(path);
    v1::RemoveCheckpointsResponse response;
    return stub_->RemoveCheckpoints(&context, request, &response);
  }
  static v1::GenerateRequest Prompt(const v1::Holder& holder, int samples, int tokens) {
    v1::GenerateRequest request;
    *request.mutable_holder() = holder;
    request.set_step(1);
    request.mutable_sampling()->set_max_new_tokens(tokens);
    request.mutable_sampling()->set_temperature(1);
    request.mutable_sampling()->set_top_p(1);
    request.mutable_sampling()->set_ignore_eos(true);
    v1::PromptGroup& group = *request.add_groups();
    v1::Message& message = *group.add_messages();
    message.set_role("user");
    message.set_content("Make it faster.");
    for (int i = 0; i < samples; ++i) group.add_samples(i);
    return request;
  }

  std::unique_ptr<TempDir> dir_;
  std::unique_ptr<TrainerService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Trainer::Stub> stub_;
  v1::LoadCheckpointResponse response_;
};

TEST_F(TrainerHolderTest, ServesOneCampaignUntilThatIsDoneOrStolenFrom) {
  const v1::Holder a = Loaded(Of("a-1", Path("model")));
  v1::LoadCheckpointRequest want = Of("b-2", Path("model"));
  const grpc::Status refused = Load(want);
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("serves campaign a-1"));
  EXPECT_EQ(Info().held_by(), "a-1");
  EXPECT_TRUE(Update(a, 1, "int a;").ok()) << "b-2's attempt changed nothing";

  want.set_steal(true);
  const v1::Holder b = Loaded(want);
  std::string checksum;
  const auto told = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::ABORTED) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("b-2 has taken the trainer from campaign a-1"));
  };
  told(Update(a, 1, "int a;"));
  told(Save(a, Path("a"), &checksum));
  told(Remove(a, Path("a")));
  grpc::ClientContext context;
  told(stub_->Generate(&context, Prompt(a, 1, 1))->Finish());
  EXPECT_EQ(Info(a, /*release=*/true).held_by(), "b-2") << "it is not a-1's to give back";
  EXPECT_FALSE(Info().has_last_update());
  EXPECT_TRUE(Update(b, 1, "int b;").ok());

  EXPECT_EQ(Info(b, /*release=*/true).held_by(), "");
  EXPECT_EQ(Update(b, 2, "int b;").error_code(), StatusCode::FAILED_PRECONDITION);
  Loaded(Of("a-1", Path("model")));
}

TEST_F(TrainerHolderTest, AnotherProcessOfTheCampaignGoesOnWithItsPolicy) {
  EXPECT_EQ(Load(Of("a-1", "")).error_code(), StatusCode::FAILED_PRECONDITION);
  const v1::Holder earlier = Loaded(Of("a-1", Path("model")));
  v1::UpdateResponse first, again;
  ASSERT_TRUE(Update(earlier, 1, "int a;", &first).ok());
  const v1::Holder later = Loaded(Of("a-1", ""));
  EXPECT_EQ(response_.info().last_update().step(), 1);
  const grpc::Status fenced = Update(earlier, 2, "int a;");
  EXPECT_EQ(fenced.error_code(), StatusCode::ABORTED);
  EXPECT_THAT(fenced.error_message(), HasSubstr("another process of campaign a-1"));

  ASSERT_TRUE(Update(later, 1, "int a;", &again).ok());
  EXPECT_EQ(again.metrics().at("perf/tokens_per_s"), first.metrics().at("perf/tokens_per_s"))
      << "the recorded answer, not a second computation";
  const grpc::Status other = Update(later, 1, "int b;");
  EXPECT_EQ(other.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(other.error_message(),
              HasSubstr("warm-up step 1 was applied to this policy already"));
  EXPECT_TRUE(Update(later, 2, "int b;").ok());

  Info(later, /*release=*/true);
  EXPECT_EQ(Load(Of("b-2", "")).error_code(), StatusCode::FAILED_PRECONDITION);
}

TEST_F(TrainerHolderTest, AStolenGenerationEndsAndSaysWhy) {
  const v1::Holder a = Loaded(Of("a-1", Path("model")));
  grpc::ClientContext context;
  const auto reader = stub_->Generate(&context, Prompt(a, 64, 1900));
  v1::GenerateEvent event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(Info().heard_s(), 0) << "a call runs";
  v1::LoadCheckpointRequest want = Of("b-2", Path("model"));
  want.set_steal(true);
  Loaded(want);  // which an undisturbed generation would keep waiting for minutes
  while (reader->Read(&event)) {
  }
  const grpc::Status ended = reader->Finish();
  EXPECT_EQ(ended.error_code(), StatusCode::ABORTED) << ended.error_message();
}

TEST_F(TrainerHolderTest, AStolenGenerationThatNobodyReadsEndsToo) {
  const v1::Holder a = Loaded(Of("a-1", Path("model")));
  grpc::ClientContext context;
  const auto reader = stub_->Generate(&context, Prompt(a, 64, 1900));
  EXPECT_TRUE(Eventually([&] { return service_->Busy() == "Generate"; }));
  v1::LoadCheckpointRequest want = Of("b-2", Path("model"));
  want.set_steal(true);
  // A generation that goes on keeps it waiting for minutes (distributed_trainer_test.cc: it stops).
  Loaded(want);
  context.TryCancel();
  reader->Finish();
}

// Whoever is gone before its load has ended does not keep the trainer.
TEST_F(TrainerHolderTest, ACancelledLoadGivesTheTrainerBack) {
  const std::string config = Path("model/config.json"), aside = Path("config.json");
  std::filesystem::rename(config, aside);
  ASSERT_EQ(mkfifo(config.c_str(), 0600), 0);
  grpc::ClientContext loading, waiting;
  const auto cancelled = [this](grpc::ClientContext* context, const std::string& campaign) {
    v1::LoadCheckpointRequest request = Of(campaign, Path("model"));
    request.set_steal(true);
    v1::LoadCheckpointResponse response;
    EXPECT_EQ(stub_->LoadCheckpoint(context, request, &response).error_code(),
              StatusCode::CANCELLED);
  };
  std::thread first(cancelled, &loading, "b-2");
  EXPECT_TRUE(Eventually([&] { return service_->Busy() == "LoadCheckpoint"; }));
  std::thread second(cancelled, &waiting, "c-3");
  EXPECT_TRUE(Eventually([&] { return Info().held_by() == "c-3"; }));
  loading.TryCancel();
  waiting.TryCancel();
  first.join();
  second.join();
  // The first one goes on.
  const std::string text = *ReadFile(aside);
  {
    const UniqueFd fifo(open(config.c_str(), O_WRONLY));
    std::filesystem::rename(aside, config);
    EXPECT_EQ(write(fifo.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  EXPECT_TRUE(Eventually([&] { return service_->Busy().empty() && Info().held_by().empty(); }));
  EXPECT_EQ(Info().campaign_id(), "b-2") << "the second one did not even begin";
  Loaded(Of("d-4", Path("model")));
}

TEST_F(TrainerHolderTest, AFailedLoadLeavesTheTrainerToItsHolder) {
  const v1::Holder a = Loaded(Of("a-1", Path("model")));
  v1::LoadCheckpointRequest want = Of("b-2", Path("nowhere"));
  want.set_steal(true);
  EXPECT_EQ(Load(want).error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(Update(a, 1, "int a;").ok());
}

TEST_F(TrainerHolderTest, AnotherCheckpointThanIsRecordedIsNotLoaded) {
  const v1::Holder a = Loaded(Of("a-1", Path("model")));
  std::string saved, other;
  ASSERT_TRUE(Save(a, Path("saved"), &saved).ok());
  ASSERT_TRUE(Update(a, 1, "int a;").ok());
  ASSERT_TRUE(Save(a, Path("other"), &other).ok());
  v1::LoadCheckpointRequest request = Of("a-1", Path("saved"));
  request.set_expected_checksum(saved);
  Loaded(request);
  request.set_path(Path("other"));
  const grpc::Status refused = Load(request);
  EXPECT_EQ(refused.error_code(), StatusCode::DATA_LOSS);
  EXPECT_THAT(refused.error_message(), AllOf(HasSubstr(saved), HasSubstr(other)));
  request.set_path(Path("model"));
  EXPECT_EQ(Load(request).error_code(), StatusCode::DATA_LOSS) << "it has no list of its files";
  request.set_path(Path("nowhere"));
  EXPECT_EQ(Load(request).error_code(), StatusCode::NOT_FOUND);
  // A byte that is not as the list says is found too.
  ASSERT_TRUE(WriteFileAtomically(Path("saved/config.json"), "{}").ok());
  request.set_path(Path("saved"));
  EXPECT_FALSE(Load(request).ok());
}

}  // namespace
}  // namespace whetstone
