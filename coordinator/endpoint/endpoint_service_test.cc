#include "coordinator/endpoint/endpoint_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/host.h"
#include "common/server.h"
#include "coordinator/endpoint/http_server_testing.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// What one Generate call came to.
struct Generated {
  std::vector<v1::GenerateEvent> events;
  grpc::Status status;

  std::map<std::pair<int, int>, v1::Completion> completions() const {
    std::map<std::pair<int, int>, v1::Completion> found;
    for (const v1::GenerateEvent& event : events) {
      if (!event.has_completion()) continue;
      const v1::Completion& completion = event.completion();
      EXPECT_TRUE(
          found.emplace(std::pair(completion.group_index(), completion.sample()), completion)
              .second)
          << "twice";
    }
    return found;
  }
};

// The real service on a unix socket, with a real stub, in front of a scripted server.
class EndpointServiceTest : public testing::Test {
 protected:
  void Serve(ScriptedHttpServer::Script script) {
    http_ = std::make_unique<ScriptedHttpServer>(std::move(script));
    ledger_ = *UsageLedger::Open("", limits_);
    options_.url = http_->url();
    client_ = std::make_unique<ChatClient>(options_, ledger_.get());
    service_ = std::make_unique<EndpointService>(client_.get(), options_.url, "qwen", "1.2.3",
                                                 generation_);
    const std::string address = absl::StrCat("unix:", dir_.path(), "/s");
    auto server = RpcServer::Start({address, "", ""}, service_.get());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = v1::Trainer::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }

  // Two groups, of six samples and of four; the prompt is the group's name.
  static v1::GenerateRequest TwoGroups() {
    v1::GenerateRequest request;
    request.set_seed(11);
    request.set_step(3);
    request.mutable_sampling()->set_max_new_tokens(64);
    request.mutable_sampling()->set_temperature(1);
    for (const auto& [index, size] : {std::pair(0, 6), std::pair(5, 4)}) {
      v1::PromptGroup& group = *request.add_groups();
      group.set_group_index(index);
      v1::Message& message = *group.add_messages();
      message.set_role("user");
      message.set_content(absl::StrCat("group ", index));
      for (int sample = 0; sample < size; ++sample) group.add_samples(sample);
    }
    return request;
  }

  static std::unique_ptr<grpc::ClientContext> Context() {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + seconds(120));
    return context;
  }

  Generated Generate(const v1::GenerateRequest& request) {
    const auto context = Context();
    const auto reader = stub_->Generate(context.get(), request);
    Generated generated;
    v1::GenerateEvent event;
    while (reader->Read(&event)) generated.events.push_back(event);
    generated.status = reader->Finish();
    return generated;
  }

  // Returns a completion whose text is the prompt.
  static ScriptedAnswer Echo(const ScriptedRequest& request) {
    const nlohmann::json sent = nlohmann::json::parse(request.body);
    return {.body = ChatCompletion(sent["messages"][0]["content"].get<std::string>())};
  }

  const TempDir dir_ = *TempDir::Make("endpoint-test");
  UsageLimits limits_;
  ChatClientOptions options_ = {.url = {},
                                .model = "qwen",
                                .key = {},
                                .concurrency = 3,
                                .pause_min = milliseconds(1),
                                .pause_max = milliseconds(2)};
  GenerationOptions generation_ = {.threads = 3};
  std::unique_ptr<ScriptedHttpServer> http_;
  std::unique_ptr<UsageLedger> ledger_;
  std::unique_ptr<ChatClient> client_;
  std::unique_ptr<EndpointService> service_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::Trainer::Stub> stub_;
};

TEST_F(EndpointServiceTest, SaysWhatItIs) {
  Serve(&Echo);
  v1::TrainerInfo info;
  ASSERT_TRUE(stub_->GetInfo(Context().get(), {}, &info).ok());
  EXPECT_EQ(info.version(), "1.2.3");
  EXPECT_EQ(info.model(), "qwen");
  EXPECT_EQ(info.device(), "endpoint");
  EXPECT_EQ(info.host_id(), HostId());
  EXPECT_EQ(info.hostname(), Hostname());
  const EndpointService far(client_.get(), "https://far.example/v1", "qwen", "1.2.3", generation_);
  EXPECT_EQ(far.Info().host_id(), "https://far.example/v1") << "no cores of this machine compute";
  EXPECT_EQ(info.campaign_id(), "");
  EXPECT_GT(info.unix_time(), 1e9);

  v1::LoadCheckpointRequest load;
  load.set_campaign_id("mine");
  load.set_path("/nowhere");
  v1::LoadCheckpointResponse loaded;
  ASSERT_TRUE(stub_->LoadCheckpoint(Context().get(), load, &loaded).ok());
  EXPECT_EQ(loaded.info().campaign_id(), "mine");
  ASSERT_TRUE(stub_->GetInfo(Context().get(), {}, &info).ok());
  EXPECT_EQ(info.campaign_id(), "mine");

  v1::UpdateResponse updated;
  EXPECT_EQ(stub_->Update(Context().get(), {}, &updated).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(EndpointServiceTest, ServesOneCampaignAtATime) {
  Serve([](const ScriptedRequest&) { return ScriptedAnswer{.silent = true}; });
  v1::LoadCheckpointResponse mine, yours;
  v1::LoadCheckpointRequest load;
  load.set_campaign_id("mine");
  ASSERT_TRUE(stub_->LoadCheckpoint(Context().get(), load, &mine).ok());
  v1::GenerateRequest request = TwoGroups();
  EXPECT_EQ(Generate(request).status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  *request.mutable_holder() = mine.holder();
  const auto context = Context();
  const auto reader = stub_->Generate(context.get(), request);
  ASSERT_TRUE(Eventually([&] { return http_->hanging() == 3; }));

  load.set_campaign_id("yours");
  const grpc::Status refused = stub_->LoadCheckpoint(Context().get(), load, &yours);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("serves campaign mine"));
  load.set_steal(true);
  ASSERT_TRUE(stub_->LoadCheckpoint(Context().get(), load, &yours).ok());
  v1::GenerateEvent event;
  while (reader->Read(&event)) {
  }
  const grpc::Status ended = reader->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_THAT(ended.error_message(), HasSubstr("yours has taken the trainer from campaign mine"));

  v1::TrainerInfoRequest release;
  *release.mutable_holder() = yours.holder();
  release.set_release(true);
  v1::TrainerInfo info;
  ASSERT_TRUE(stub_->GetInfo(Context().get(), {}, &info).ok());
  EXPECT_EQ(info.held_by(), "yours");
  ASSERT_TRUE(stub_->GetInfo(Context().get(), release, &info).ok());
  EXPECT_EQ(info.held_by(), "");
}

TEST_F(EndpointServiceTest, GeneratesTwoGroups) {
  Serve(&Echo);
  const Generated generated = Generate(TwoGroups());
  ASSERT_TRUE(generated.status.ok()) << generated.status.error_message();
  ASSERT_GE(generated.events.size(), 12u);
  EXPECT_EQ(generated.events[0].prompt().group_index(), 0);
  EXPECT_EQ(generated.events[1].prompt().group_index(), 5);
  EXPECT_TRUE(generated.events[0].has_prompt() && generated.events[1].has_prompt());
  EXPECT_EQ(generated.events[0].prompt().ids_size(), 0);
  const auto completions = generated.completions();
  ASSERT_THAT(completions, SizeIs(10));
  for (const auto& [place, completion] : completions) {
    EXPECT_EQ(completion.text(), absl::StrCat("group ", place.first));
    EXPECT_LT(place.second, place.first == 0 ? 6 : 4);
    EXPECT_EQ(completion.finish(), v1::Completion::STOP);
    EXPECT_EQ(completion.tokens(), 5);
    EXPECT_EQ(completion.ids_size(), 0);
  }
  std::set<int64_t> seeds;
  for (const ScriptedRequest& request : http_->requests()) {
    seeds.insert(nlohmann::json::parse(request.body)["seed"].get<int64_t>());
  }
  EXPECT_THAT(seeds, SizeIs(10));
  EXPECT_LE(http_->most_at_once(), 3);

  v1::GenerateRequest nothing;
  EXPECT_TRUE(Generate(nothing).status.ok());
}

TEST_F(EndpointServiceTest, TellsHowFarItIsWhileNothingComes) {
  Serve([](const ScriptedRequest& request) {
    ScriptedAnswer answer = Echo(request);
    answer.silent = request.number >= 2;
    return answer;
  });
  const auto context = Context();
  const auto reader = stub_->Generate(context.get(), TwoGroups());
  v1::GenerateEvent event;
  bool told = false;
  while (!told && reader->Read(&event)) {
    const v1::GenerateProgress& progress = event.progress();
    told = progress.completions() == 2 && progress.tokens() == 10 && progress.active() == 3;
  }
  EXPECT_TRUE(told);
  context->TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(EndpointServiceTest, ACancelledCallAbortsItsRequests) {
  Serve([](const ScriptedRequest&) { return ScriptedAnswer{.silent = true}; });
  const auto context = Context();
  const auto reader = stub_->Generate(context.get(), TwoGroups());
  ASSERT_TRUE(Eventually([&] { return http_->hanging() == 3; }));
  context->TryCancel();
  v1::GenerateEvent event;
  while (reader->Read(&event)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return http_->hanging() == 0; }));
  EXPECT_THAT(http_->requests(), SizeIs(3)) << "and none was begun";
}

TEST_F(EndpointServiceTest, WhatCameBeforeAnErrorIsKept) {
  Serve([](const ScriptedRequest& request) -> ScriptedAnswer {
    if (request.number >= 4) return {.status = 401, .body = R"({"error": "expired"})"};
    return Echo(request);
  });
  const Generated generated = Generate(TwoGroups());
  EXPECT_EQ(generated.status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(generated.status.error_message(), HasSubstr("expired"));
  EXPECT_THAT(generated.completions(), SizeIs(4));
  EXPECT_LE(http_->requests().size(), 7u) << "none was begun after the first error";
}

TEST_F(EndpointServiceTest, RequestsUnderWayMayEndAfterAnError) {
  // Two requests are answered once the third has ended the call.
  std::mutex mutex;
  std::condition_variable changed;
  bool refused = false;
  Serve([&](const ScriptedRequest& request) -> ScriptedAnswer {
    std::unique_lock<std::mutex> lock(mutex);
    if (request.number == 2) {
      refused = true;
      changed.notify_all();
      return {.status = 403};
    }
    EXPECT_TRUE(changed.wait_for(lock, seconds(60), [&] { return refused; }));
    return Echo(request);
  });
  const Generated generated = Generate(TwoGroups());
  EXPECT_EQ(generated.status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_GE(generated.completions().size(), 2u);
}

TEST_F(EndpointServiceTest, RequestsThatHangAreCancelledAfterAnError) {
  generation_.finish_grace = milliseconds(50);
  Serve([](const ScriptedRequest& request) -> ScriptedAnswer {
    if (request.number == 2) return {.status = 403};
    return {.silent = true};
  });
  const Generated generated = Generate(TwoGroups());
  EXPECT_EQ(generated.status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(http_->requests(), SizeIs(3));
}

TEST_F(EndpointServiceTest, ALimitEndsTheCallInTheMiddle) {
  limits_.requests_max = 7;
  Serve(&Echo);
  const Generated generated = Generate(TwoGroups());
  EXPECT_EQ(generated.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(generated.status.error_message(), HasSubstr("policy.requests_max: all 7 requests"));
  EXPECT_THAT(generated.completions(), SizeIs(7));
  EXPECT_THAT(http_->requests(), SizeIs(7));
}

TEST_F(EndpointServiceTest, ASampleThatIsGivenUpEndsTheCall) {
  options_.retry_for = milliseconds(50);
  Serve([](const ScriptedRequest& request) -> ScriptedAnswer {
    if (absl::StrContains(request.body, "group 5")) return {.status = 500};
    return Echo(request);
  });
  const Generated generated = Generate(TwoGroups());
  EXPECT_EQ(generated.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(generated.completions(), SizeIs(6));
}

TEST_F(EndpointServiceTest, APrefixIsRefused) {
  Serve(&Echo);
  v1::GenerateRequest request = TwoGroups();
  request.mutable_groups(1)->set_response_prefix("```cpp\n");
  const Generated generated = Generate(request);
  EXPECT_EQ(generated.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(generated.status.error_message(), HasSubstr("response_prefix"));
  EXPECT_THAT(generated.events, SizeIs(0));
}

TEST_F(EndpointServiceTest, CallsShareThePlaces) {
  Serve(&Echo);
  std::vector<std::thread> calls;
  for (int call = 0; call < 3; ++call) {
    calls.emplace_back([&] { EXPECT_THAT(Generate(TwoGroups()).completions(), SizeIs(10)); });
  }
  for (std::thread& call : calls) call.join();
  EXPECT_LE(http_->most_at_once(), 3);
}

}  // namespace
}  // namespace whetstone
