#include "coordinator/config/policy_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/config/problem_rules.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

constexpr char kWithEndpoint[] =
    "name: c\nproblems: [a.md]\npolicy: {endpoint: \"http://127.0.0.1:8000/v1\", model: m/1}\n";

std::string Complaint(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  const auto campaign = ParseCampaign(yaml, "c.yaml", "/camp", sets);
  return campaign.ok() ? "accepted" : std::string(campaign.status().message());
}

TEST(PolicyRulesTest, AModelBehindAnEndpointLearnsNothingAndNeedsNoDirectory) {
  const v1::Campaign c = *ParseCampaign(kWithEndpoint, "c.yaml", "/camp", {});
  EXPECT_TRUE(c.train().frozen());
  EXPECT_EQ(c.model(), "m/1") << "a name, not a path";
  EXPECT_FALSE(Learns(c));
  EXPECT_EQ(c.policy().concurrency(), 8);
  EXPECT_EQ(c.policy().timeout_s(), 600);
  EXPECT_EQ(Complaint(kWithEndpoint, {"deterministic=true"}), "accepted");
}

TEST(PolicyRulesTest, SaysWhatIsWrongWithAnEndpoint) {
  for (const char* url : {"127.0.0.1:8000", "ftp://h/v1", "http://h/v1?key=1", "http://h/ v1"}) {
    EXPECT_THAT(Complaint(kWithEndpoint, {absl::StrCat("policy.endpoint=\"", url, "\"")}),
                HasSubstr("base URL"))
        << url;
  }
  EXPECT_THAT(Complaint(kWithEndpoint, {"policy.endpoint=\"https://me:secret@h/v1\""}),
              HasSubstr("policy.key_env"));
  EXPECT_THAT(Complaint(kWithEndpoint, {"policy.model=\"\""}),
              HasSubstr("'policy.model' is missing"));
  EXPECT_THAT(Complaint(kWithEndpoint, {"policy.key_env=sk-123"}), HasSubstr("not the key itself"));
  EXPECT_THAT(Complaint(kWithEndpoint, {"policy.key_env=KEY", "policy.key_file=/k"}),
              HasSubstr("leave one of them out"));
  EXPECT_THAT(Complaint(kWithEndpoint, {"policy.concurrency=0"}),
              HasSubstr("'policy.concurrency'"));
  EXPECT_THAT(Complaint(kWithEndpoint, {"policy.requests_max=-1"}),
              HasSubstr("'policy.requests_max'"));
  EXPECT_THAT(Complaint(kWithEndpoint, {"policy.timeout_s=0"}), HasSubstr("'policy.timeout_s'"));
}

TEST(PolicyRulesTest, WhatAnEndpointCannotDoIsRefused) {
  EXPECT_THAT(Complaint(kWithEndpoint, {"warmup.examples=w.jsonl"}),
              HasSubstr("'warmup' is not for"));
  EXPECT_THAT(Complaint(kWithEndpoint, {"generate.response_prefix=\"```cpp\""}),
              HasSubstr("its answers begin by themselves"));
  EXPECT_THAT(Complaint(kWithEndpoint, {"generate.stop_ids=[2]"}), HasSubstr("ids of its tokens"));
  EXPECT_THAT(Complaint("name: c\nmodel: /m\nproblems: [a.md]\npolicy: {model: m}\n"),
              HasSubstr("has no effect without policy.endpoint"));
}

TEST(PolicyRulesTest, AFrozenPolicyHasNothingThatIsForLearning) {
  const std::string frozen = "name: c\nmodel: /m\nproblems: [a.md]\ntrain: {frozen: true}\n";
  EXPECT_EQ(Complaint(frozen), "accepted");
  EXPECT_THAT(Complaint(frozen, {"train.imitation.size=2"}), HasSubstr("the policy is frozen"));
  EXPECT_THAT(Complaint(frozen, {"train.dynamic_sampling.max_refills=1"}),
              HasSubstr("the policy is frozen"));
  EXPECT_THAT(Complaint(frozen, {"train.kl_beta=0.1"}), HasSubstr("the policy is frozen"));
}

TEST(PolicyRulesTest, KnownProgramsAreForASearch) {
  EXPECT_THAT(Complaint(kWithEndpoint, {"search.rewrites=r.jsonl"}), HasSubstr("is never shown"));
  const v1::Campaign c =
      *ParseCampaign(kWithEndpoint, "c.yaml", "/camp", {"search={parents: 1, rewrites: /r.jsonl}"});
  EXPECT_EQ(c.search().rewrites(), "/r.jsonl");
}

}  // namespace
}  // namespace whetstone
