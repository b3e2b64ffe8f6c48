#include "coordinator/loop/model_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "common/second_turn.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/durable/step_record.h"
#include "coordinator/rpc/echo_services.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

// AnsweringTrainer answers the question about the model with the given statuses, one a call, and
// then with a model that serves.
class AnsweringTrainer : public EchoTrainer {
 public:
  explicit AnsweringTrainer(std::deque<absl::Status> answers) : answers_(std::move(answers)) {}
  absl::StatusOr<v1::InspectModelResponse> InspectModel(const v1::InspectModelRequest& request,
                                                        const CallOptions& options) override {
    ++calls;
    EXPECT_GT(options.deadline.count(), 0);
    if (!answers_.empty()) {
      const absl::Status status = answers_.front();
      answers_.pop_front();
      return status;
    }
    v1::InspectModelResponse response;
    response.mutable_model()->set_family("llama");
    response.mutable_model()->set_context_length(2048);
    asked = request;
    for (int i = 0; i < request.prompts_size(); ++i) response.add_prompt_tokens(100);
    return response;
  }
  int calls = 0;
  v1::InspectModelRequest asked;

 private:
  std::deque<absl::Status> answers_;
};

class ModelCheckTest : public testing::Test {
 protected:
  absl::Status Check(AnsweringTrainer* trainer) {
    return CheckRemoteModel(plan_, trainer, &signals_);
  }
  StopSignals signals_;
  CampaignPlan plan_ = MakeTestPlan({});
};

TEST_F(ModelCheckTest, ATrainerThatIsAwayForAMomentIsAskedAgain) {
  AnsweringTrainer trainer({absl::UnavailableError("away"), absl::UnavailableError("away")});
  const absl::Status status = Check(&trainer);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(trainer.calls, 3);
}

TEST_F(ModelCheckTest, AnOldTrainerIsNamedAsOne) {
  AnsweringTrainer trainer({absl::UnimplementedError("")});
  const absl::Status status = Check(&trainer);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("install this version"));
  EXPECT_EQ(trainer.calls, 1);
}

TEST_F(ModelCheckTest, WhatWillNotPassIsNotAskedAgain) {
  AnsweringTrainer trainer({absl::PermissionDeniedError("no")});
  EXPECT_EQ(Check(&trainer).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(trainer.calls, 1);
}

TEST_F(ModelCheckTest, ASecondTurnIsCheckedAsItWillBeAsked) {
  AnsweringTrainer plain({});
  EXPECT_TRUE(Check(&plain).ok());
  EXPECT_EQ(plain.asked.prompts_size(), 2);
  plan_ = MakeTestPlan({.sets = {"search={repairs: 0.5}"}});
  plan_.problems[0].problem.set_reference("void f();");
  AnsweringTrainer trainer({});
  const absl::Status status = Check(&trainer);
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_EQ(trainer.asked.prompts_size(), 4) << "one more for each problem";
  const SearchParent parent{"hash", "void f();", /*speedup=*/0, std::string(kFailureBytes, 'x')};
  const std::vector<v1::Message> later = plan_.MessagesFrom(1, 0, parent);
  const v1::NamedPrompt& prompt = trainer.asked.prompts(1);
  ASSERT_EQ(prompt.messages_size(), static_cast<int>(later.size()));
  for (size_t i = 0; i < later.size(); ++i) {
    EXPECT_EQ(prompt.messages(static_cast<int>(i)).ShortDebugString(), later[i].ShortDebugString());
  }
}

}  // namespace
}  // namespace whetstone
