#include "coordinator/loop/endpoint_approval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

CampaignPlan PlanOf(const std::string& endpoint, std::vector<std::string> more = {}) {
  CampaignPlan plan = MakeTestPlan(
      {.steps = 5, .warmup = 0, .group_size = 4, .prompts_per_step = 2, .sets = std::move(more)});
  plan.campaign.mutable_policy()->set_endpoint(endpoint);
  plan.campaign.mutable_policy()->set_model("m");
  return plan;
}

// A test has no terminal: nobody can be asked.
absl::Status Approved(const CampaignPlan& plan, bool yes) {
  static StopSignals* const signals = new StopSignals;
  Console console(/*json=*/false);
  return ApproveEndpoint(plan, yes, signals, &console);
}

TEST(EndpointApprovalTest, SaysHowMuchItCanCome) {
  CampaignPlan plan = PlanOf("https://far/v1", {"generate.max_new_tokens=1000"});
  plan.problems[0].messages[0].set_content(std::string(4000, 'x'));
  const std::string text = EndpointCostText(plan);
  EXPECT_THAT(text, HasSubstr("m at https://far/v1 is asked 40 times at most"));
  EXPECT_THAT(text, HasSubstr("1000 + 1000 tokens (prompt + answer) each, 0.08 million in all"));
  plan.campaign.mutable_policy()->set_requests_max(30);
  plan.campaign.mutable_policy()->set_tokens_max(5000);
  EXPECT_THAT(EndpointCostText(plan), HasSubstr("policy.requests_max ends it after 30"));
  EXPECT_THAT(EndpointCostText(plan), HasSubstr("policy.tokens_max ends it after 5000 tokens"));
}

TEST(EndpointApprovalTest, WhatASecondTurnAddsCounts) {
  CampaignPlan plan =
      PlanOf("https://far/v1", {"generate.max_new_tokens=1000", "search={repairs: 0.25}"});
  for (PlannedProblem& planned : plan.problems) {
    planned.messages[0].set_content(std::string(4000, 'x'));
  }
  // A request of 4000 bytes, an answer as long as any, and 920 bytes about it.
  EXPECT_THAT(EndpointCostText(plan), HasSubstr("up to 2230 + 1000 tokens"));
}

TEST(EndpointApprovalTest, EvaluationsCountToo) {
  const CampaignPlan plan =
      PlanOf("https://far/v1", {"eval.problems=[/v.md]", "eval.every=0", "eval.samples=3"});
  EXPECT_THAT(EndpointCostText(plan), HasSubstr("asked 43 times"));
}

TEST(EndpointApprovalTest, WhatMayCostMoneyIsApproved) {
  const absl::Status unasked = Approved(PlanOf("https://far/v1"), /*yes=*/false);
  EXPECT_TRUE(absl::IsFailedPrecondition(unasked)) << unasked;
  EXPECT_THAT(std::string(unasked.message()), HasSubstr("run this again with --yes"));
  EXPECT_TRUE(Approved(PlanOf("https://far/v1"), /*yes=*/true).ok());
  EXPECT_TRUE(Approved(PlanOf("http://127.0.0.1:8000/v1"), /*yes=*/false).ok());
  EXPECT_TRUE(Approved(PlanOf("http://localhost/v1"), /*yes=*/false).ok());
  EXPECT_TRUE(Approved(PlanOf("http://[::1]:80/v1"), /*yes=*/false).ok());
  EXPECT_FALSE(Approved(PlanOf("http://localhost.evil.org/v1"), /*yes=*/false).ok());
  EXPECT_FALSE(Approved(PlanOf("http://127.evil.org/v1"), /*yes=*/false).ok());
  EXPECT_TRUE(Approved(PlanOf(""), /*yes=*/false).ok());
}

}  // namespace
}  // namespace whetstone
