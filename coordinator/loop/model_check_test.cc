#include "coordinator/loop/model_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "coordinator/durable/campaign_plan_testing.h"
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
    for (int i = 0; i < request.prompts_size(); ++i) response.add_prompt_tokens(100);
    return response;
  }
  int calls = 0;

 private:
  std::deque<absl::Status> answers_;
};

class ModelCheckTest : public testing::Test {
 protected:
  absl::Status Check(AnsweringTrainer* trainer) {
    return CheckRemoteModel(plan_, trainer, &signals_);
  }
  StopSignals signals_;
  const CampaignPlan plan_ = MakeTestPlan({});
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

}  // namespace
}  // namespace whetstone
