#include "coordinator/config/model_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "coordinator/config/campaign_parser.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kCampaign[] =
    "name: tiny\nmodel: /m\nproblems: [a.md, b.md]\n"
    "train: {kl_beta: 0.1, kl_reference: /r}\ngenerate: {response_prefix: \"```cpp\"}\n"
    "chat: {thinking: \"off\", date: 26 Jul 2024}\n";

class ModelRulesTest : public testing::Test {
 protected:
  ModelRulesTest() {
    for (const char* name : {"short", "long", "middling"}) request_.add_prompts()->set_name(name);
    for (const int tokens : {50, 300, 200}) response_.add_prompt_tokens(tokens);
    response_.mutable_model()->set_context_length(1000);
    response_.mutable_model()->set_vocab_size(500);
  }
  // Returns "KEY: WHAT" of every broken rule.
  std::vector<std::string> Broken(const std::vector<std::string>& sets) {
    const auto campaign = ParseCampaign(kCampaign, "c.yaml", "/", sets);
    EXPECT_TRUE(campaign.ok()) << campaign.status();
    std::vector<std::string> texts;
    for (const BrokenRule& rule : CheckModelRules(*campaign, request_, response_)) {
      texts.push_back(absl::StrCat(rule.key, ": ", rule.what));
    }
    return texts;
  }

  v1::InspectModelRequest request_;
  v1::InspectModelResponse response_;
};

TEST_F(ModelRulesTest, PromptAndAnswerFitIntoTheContext) {
  EXPECT_THAT(Broken({"generate.max_new_tokens=700"}), IsEmpty());
  EXPECT_THAT(Broken({"generate.max_new_tokens=701"}),
              ElementsAre("generate.max_new_tokens: 701 is beyond the model: its context is 1000 "
                          "tokens, and the longest prompt (problem long) has 300; give at most "
                          "700"));
  EXPECT_THAT(Broken({"generate.max_new_tokens=100000000"}).size(), 1);
  EXPECT_THAT(Broken({"generate.max_new_tokens=350", "search.parents=0.5"}), IsEmpty());
  EXPECT_THAT(Broken({"generate.max_new_tokens=351", "search.parents=0.5"}),
              ElementsAre("generate.max_new_tokens: 351 is beyond the model: its context is 1000 "
                          "tokens, and the longest prompt (problem long) has 300, before a parent "
                          "(search) as long as an answer; give at most 350"));
  EXPECT_THAT(Broken({"generate.max_new_tokens=118", "search.repairs=0.5"}), IsEmpty());
  EXPECT_THAT(Broken({"generate.max_new_tokens=119", "search.repairs=0.5"}),
              ElementsAre("generate.max_new_tokens: 119 is beyond the model: its context is 1000 "
                          "tokens, and the longest prompt (problem long) has 300, before a parent "
                          "(search) as long as an answer and 464 for what was wrong with it; give "
                          "at most 118"));
  EXPECT_THAT(
      Broken({"generate.max_new_tokens=701", "train.steps=0", "warmup={examples: w.jsonl}"}),
      IsEmpty())
      << "nothing is generated";
  EXPECT_THAT(
      Broken({"generate.max_new_tokens=701", "train.steps=0", "eval={problems: [v.md]}"}).size(),
      1);
  request_.clear_prompts();
  response_.clear_prompt_tokens();
  EXPECT_THAT(Broken({"generate.max_new_tokens=1001"}),
              ElementsAre("generate.max_new_tokens: 1001 is beyond the model: its context is 1000 "
                          "tokens; give at most 1000"));
}

TEST_F(ModelRulesTest, APromptThatFillsTheContextIsNamed) {
  response_.mutable_model()->set_context_length(300);
  EXPECT_THAT(Broken({"generate.max_new_tokens=1"}),
              ElementsAre("problems: the prompt of long has 300 tokens, and the model's context is "
                          "300: no room is left for an answer; leave this problem out"));
}

TEST_F(ModelRulesTest, ASecondTurnIsKnownByItsBounds) {
  v1::Problem problem;
  problem.set_id("again");
  problem.set_reference("\nvoid f();\n");
  v1::Message asked;
  asked.set_role("user");
  const std::vector<v1::Message> turn = SecondTurn(problem, {asked});
  ASSERT_EQ(turn.size(), 3u);
  EXPECT_EQ(turn[1].role(), "assistant");
  EXPECT_EQ(turn[1].content(), "```cpp\n\nvoid f();\n```") << "lines keep their numbers";
  EXPECT_EQ(turn[2].role(), "user");
  AddPrompts(problem, {turn}, "", &request_);
  response_.add_prompt_tokens(900);
  EXPECT_EQ(FindLongestPrompt(request_, response_).tokens, 300);
}

TEST_F(ModelRulesTest, AWarmUpAloneGeneratesNothing) {
  EXPECT_THAT(
      Broken({"train.steps=0", "warmup={examples: w.jsonl}", "generate.max_new_tokens=5000"}),
      IsEmpty());
}

TEST_F(ModelRulesTest, StopTokensAreTheModels) {
  EXPECT_THAT(Broken({"generate.stop_ids=[499, 500]"}),
              ElementsAre("generate.stop_ids[1]: 500 is none of the model's 500 tokens"));
}

TEST_F(ModelRulesTest, WhatTheTrainerSaysBelongsToItsKey) {
  response_.mutable_model()->set_error("of another family");
  response_.mutable_kl_reference()->set_error("cut short");
  EXPECT_THAT(Broken({"generate.max_new_tokens=5000"}),
              ElementsAre("model: of another family", "train.kl_reference: cut short"));
}

TEST_F(ModelRulesTest, TheRequestSaysWhatTheCampaignSays) {
  const v1::InspectModelRequest request =
      InspectRequestOf(*ParseCampaign(kCampaign, "c.yaml", "/", {}));
  EXPECT_EQ(request.ShortDebugString(),
            "model: \"/m\" kl_reference: \"/r\" chat { thinking: \"off\" date: \"26 Jul 2024\" }");
}

TEST_F(ModelRulesTest, APromptSaysHowItsAnswerMayGoOn) {
  v1::Problem problem;
  problem.set_id("sum");
  problem.set_reference("#include <math.h>\n\nint f(int a,\n      int n) {\n  return a;\n}");
  const std::vector<v1::Message> plain(1), hinted(2);
  const std::pair<std::string, std::string> cases[] = {
      {"```cpp", "\n" + problem.reference()},
      {"```cpp\nint f(int a,\n      int n)", " {\n  return a;\n}"},
      {"Sure:\n```cpp\nint f(int a,", "\n      int n) {\n  return a;\n}"},
      {"```cpp\nint g(", ""},
      {"```cpp\nint f(int a) {}\n```", ""},
      {"Sure:", ""},
      {"", ""}};
  for (const auto& [prefix, continuation] : cases) {
    v1::InspectModelRequest request;
    AddPrompts(problem, {plain, hinted}, prefix, &request);
    ASSERT_EQ(request.prompts_size(), 2);
    for (const int i : {0, 1}) {
      EXPECT_EQ(request.prompts(i).name(), "sum");
      EXPECT_EQ(request.prompts(i).messages_size(), i + 1);
      EXPECT_EQ(request.prompts(i).response_prefix(), prefix);
      EXPECT_EQ(request.prompts(i).continuation(), continuation);
    }
  }
}

TEST_F(ModelRulesTest, FactsAreReadable) {
  v1::ModelFacts facts;
  facts.set_family("llama");
  facts.set_parameters(134'515'008);
  facts.set_weight_bytes(269'030'016);
  facts.set_context_length(8192);
  EXPECT_EQ(FactsText(facts), "llama, 134.5 M parameters, 0.27 GB, context 8192");
}

}  // namespace
}  // namespace whetstone
