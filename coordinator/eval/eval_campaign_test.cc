#include "coordinator/eval/eval_campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "coordinator/config/campaign_parser.h"
#include "coordinator/eval/eval_models.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

TEST(EvalCampaignTest, AModelBehindAnEndpointIsNamedByItsUrl) {
  const NamedModel far = *FindModel("https://host/v1#some/Writer-7b");
  EXPECT_EQ(far.name, "Writer-7b");
  EXPECT_EQ(far.path, "some/Writer-7b");
  EXPECT_EQ(far.endpoint, "https://host/v1");
  EXPECT_EQ(FindModel("mine=http://h?x=1#m")->name, "mine");
  for (const char* word : {"http://host/v1", "http://host/v1#"}) {
    EXPECT_THAT(std::string(FindModel(word).status().message()), HasSubstr("URL#MODEL"));
  }
  EXPECT_THAT(std::string(FindModel("http://h/v1#a b").status().message()),
              HasSubstr("name it with NAME=http://h/v1#a b"));
}

TEST(EvalCampaignTest, ItIsAskedAsTheOthersButBeginsItsAnswersByItself) {
  const v1::Campaign base = *ParseCampaign(
      "name: b\nmodel: /m\nproblems: [a.md]\n"
      "generate: {temperature: 0.5, response_prefix: \"```cpp\", stop_ids: [2]}\n"
      "policy: {concurrency: 3, key_env: KEY}\nchat: {thinking: \"off\"}\n",
      "b.yaml", "/", {});
  const EvalSettings settings{
      {"/p.md"}, 4, 17, {"policy.tokens_max=9", "generate.response_prefix=\"```\""}};
  const v1::Campaign far = *EvalCampaign(*FindModel("http://h/v1#m"), &base, settings);
  EXPECT_EQ(far.policy().endpoint(), "http://h/v1");
  EXPECT_EQ(far.policy().model(), "m");
  EXPECT_EQ(far.policy().concurrency(), 3);
  EXPECT_EQ(far.policy().key_env(), "KEY");
  EXPECT_EQ(far.policy().tokens_max(), 9);
  EXPECT_EQ(far.generate().temperature(), 0.5);
  EXPECT_EQ(far.generate().response_prefix(), "");
  EXPECT_EQ(far.generate().stop_ids_size(), 0);
  const v1::Campaign near = *EvalCampaign(*FindModel("/models/small"), &base, settings);
  EXPECT_EQ(far.chat().thinking(), "auto");
  EXPECT_EQ(near.chat().thinking(), "off");
  EXPECT_EQ(near.policy().endpoint(), "");
  EXPECT_EQ(near.generate().response_prefix(), "```");
  EXPECT_FALSE(near.train().frozen());
}

TEST(EvalCampaignTest, HowItIsAskedMakesNoOtherEvaluation) {
  CampaignPlan there, here;
  there.problems.resize(1);
  here.problems.resize(1);
  there.campaign = *EvalCampaign(*FindModel("http://h/v1#m"), nullptr, {{"/p.md"}, 4, 17, {}});
  here.campaign = *EvalCampaign(
      *FindModel("http://h/v1#m"), nullptr,
      {{"/p.md"}, 4, 17, {"policy.requests_max=9", "policy.key_env=K", "patience.trainer_s=900"}});
  EXPECT_EQ(here.campaign.patience().trainer_s(), 900);
  EXPECT_THAT(EvalDifferences(there, here), testing::IsEmpty());
  here.campaign = *EvalCampaign(*FindModel("http://g/v1#m"), nullptr, {{"/p.md"}, 4, 17, {}});
  EXPECT_THAT(EvalDifferences(there, here), testing::ElementsAre(HasSubstr("policy.endpoint is")));
}

TEST(EvalCampaignTest, TheEndpointIsNoSetting) {
  const EvalSettings settings{{"/p.md"}, 4, 17, {"policy.endpoint=\"http://h/v1\""}};
  EXPECT_THAT(std::string(EvalCampaign(*FindModel("/m"), nullptr, settings).status().message()),
              HasSubstr("URL#MODEL"));
}

}  // namespace
}  // namespace whetstone
