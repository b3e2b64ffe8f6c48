#include "coordinator/endpoint/chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

using nlohmann::json;

v1::SamplingParams Plain() {
  v1::SamplingParams sampling;
  sampling.set_max_new_tokens(256);
  sampling.set_temperature(0.5);
  sampling.set_top_p(1);
  return sampling;
}

json Parameters(const v1::SamplingParams& sampling, const Dialect& dialect = {}) {
  return ChatParameters({.messages = {}, .sampling = sampling, .seed = 7}, dialect);
}

TEST(ChatBodyTest, SendsWhatIsNotOff) {
  v1::SamplingParams sampling = Plain();
  EXPECT_EQ(Parameters(sampling), json::parse(R"({"max_completion_tokens": 256,
      "max_tokens": 256, "temperature": 0.5, "seed": 7})"));
  sampling.add_stop("```\n");
  sampling.set_top_p(0.25);
  sampling.set_top_k(40);
  sampling.set_min_p(0.125);
  sampling.set_repetition_penalty(1.5);
  sampling.set_presence_penalty(-0.5);
  sampling.set_frequency_penalty(2);
  EXPECT_EQ(Parameters(sampling), json::parse(R"({"max_completion_tokens": 256,
      "max_tokens": 256, "temperature": 0.5, "seed": 7, "stop": ["```\n"], "top_p": 0.25,
      "top_k": 40, "min_p": 0.125, "repetition_penalty": 1.5, "presence_penalty": -0.5,
      "frequency_penalty": 2.0})"));
  sampling.set_repetition_penalty(1);
  EXPECT_FALSE(Parameters(sampling).contains("repetition_penalty"));
}

TEST(ChatBodyTest, HoldsModelAndMessages) {
  v1::PromptGroup group;
  v1::Message& message = *group.add_messages();
  message.set_role("user");
  message.set_content("\"fast\"\n\xc3\xa9");
  const std::string body = ChatBody({group.messages(), Plain(), 7}, "a/b:c", Dialect());
  const json parsed = json::parse(body);
  EXPECT_EQ(parsed["model"], "a/b:c");
  EXPECT_EQ(parsed["messages"], json::parse(R"([{"role": "user", "content": "\"fast\"\né"}])"));
  EXPECT_FALSE(parsed.contains("n"));
  EXPECT_FALSE(parsed.contains("stream"));
}

TEST(DialectTest, LosesParametersButNotItsBound) {
  Dialect dialect;
  EXPECT_TRUE(dialect.Drop("seed"));
  EXPECT_FALSE(dialect.Drop("seed"));
  EXPECT_FALSE(Parameters(Plain(), dialect).contains("seed"));
  EXPECT_TRUE(dialect.Drop("max_completion_tokens"));
  EXPECT_FALSE(dialect.Drop("max_tokens"));
  EXPECT_FALSE(dialect.Drop("max_completion_tokens"));
  EXPECT_EQ(Parameters(Plain(), dialect),
            json::parse(R"({"max_tokens": 256, "temperature": 0.5})"));
  Dialect other;
  EXPECT_TRUE(other.Drop("max_tokens"));
  EXPECT_FALSE(other.Drop("max_completion_tokens"));
  EXPECT_FALSE(other == dialect);
}

TEST(SampleSeedTest, EachSampleHasItsOwn) {
  std::set<uint32_t> seeds;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    for (int64_t step = 0; step < 3; ++step) {
      for (int32_t group = 0; group < 3; ++group) {
        for (int32_t sample = 0; sample < 8; ++sample) {
          const uint32_t own = SampleSeed(seed, step, group, sample);
          EXPECT_LT(own, uint32_t{1} << 31);
          seeds.insert(own);
        }
      }
    }
  }
  EXPECT_EQ(seeds.size(), 3u * 3 * 3 * 8);
  EXPECT_EQ(SampleSeed(1, 2, 3, 4), SampleSeed(1, 2, 3, 4));
}

std::string Answer(const std::string& choice, const std::string& usage = "{}") {
  return absl::StrCat(R"({"choices": [)", choice, R"(], "usage": )", usage, "}");
}

TEST(ParseServerJsonTest, ManyMembersTakeNoLonger) {
  // Quadratic work on these would take hours.
  std::string wide = "[{}";
  for (int i = 0; i < 1000000; ++i) wide += ",{}";
  EXPECT_EQ(ParseServerJson(wide + "]").size(), 1000001u);
  EXPECT_TRUE(ParseServerJson(std::string(101, '[') + std::string(101, ']')).is_discarded());
  EXPECT_TRUE(ParseServerJson("\"" + std::string(101, '[') + "\\\"[\"").is_string());
}

TEST(ChatAnswerTest, ThoughtsAreNoAnswer) {
  const auto text = [](const std::string& content) {
    const nlohmann::json body = {
        {"choices", {{{"message", {{"content", content}}}, {"finish_reason", "stop"}}}}};
    return ParseChatAnswer(body.dump())->text;
  };
  EXPECT_EQ(text("<think>```cpp draft</think>\n```cpp\nx\n```"), "\n```cpp\nx\n```");
  EXPECT_EQ(text("the template began them</think>answer"), "answer");
  EXPECT_EQ(text(" <think>cut off ```cpp\nint draft();\n```"), "");
  EXPECT_EQ(text("a < b and c > d"), "a < b and c > d");
  const auto thinking =
      ParseChatAnswer(R"({"choices": [{"message": {"content": "<think>1234"}}]})");
  EXPECT_EQ(thinking->bytes, 11u) << "they cost all the same";
}

TEST(ChatAnswerTest, WhatBrokeOffIsNone) {
  EXPECT_TRUE(
      ParseChatAnswer(R"({"choices": [{"message": {"content": "x"}, "error": null}]})").ok());
  EXPECT_FALSE(
      ParseChatAnswer(R"({"choices": [{"message": {"content": "x"}, "error": {}}]})").ok());
  EXPECT_FALSE(ParseChatAnswer(R"({"choices": [{"message": {"content": "half"},
      "finish_reason": "error"}]})")
                   .ok());
  EXPECT_EQ(ParseChatAnswer(R"({"choices": [{"message": {"content": "half"},
      "finish_reason": "content_filter"}]})")
                ->finish,
            v1::Completion::LENGTH);
}

TEST(ChatAnswerTest, ReadsTextFinishAndUsage) {
  const absl::StatusOr<ChatAnswer> answer = ParseChatAnswer(
      Answer(R"({"message": {"content": "int x;"}, "finish_reason": "length"})",
             R"({"prompt_tokens": 12, "completion_tokens": 34, "total_tokens": 46})"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->text, "int x;");
  EXPECT_EQ(answer->finish, v1::Completion::LENGTH);
  EXPECT_EQ(answer->prompt_tokens, 12);
  EXPECT_EQ(answer->completion_tokens, 34);
}

TEST(ChatAnswerTest, ContentHasManyForms) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"message": {"content": null}})", ""},
      {R"({"message": {"role": "assistant"}})", ""},
      {R"({"message": {"content": []}})", ""},
      {R"({"message": {"content": [{"type": "text", "text": "a"}, {"type": "image"}, 3,
           {"type": "text", "text": "b"}]}})",
       "ab"},
      {R"({"message": {"content": "a\u0000b"}, "finish_reason": null})", "ab"},
  };
  for (const auto& [choice, text] : cases) {
    const absl::StatusOr<ChatAnswer> answer = ParseChatAnswer(Answer(choice));
    ASSERT_TRUE(answer.ok()) << choice << answer.status();
    EXPECT_EQ(answer->text, text) << choice;
    EXPECT_EQ(answer->finish, v1::Completion::STOP) << choice;
  }
}

TEST(ChatAnswerTest, BrokenUtf8IsReplaced) {
  const absl::StatusOr<ChatAnswer> answer =
      ParseChatAnswer(Answer("{\"message\": {\"content\": \"a\xff\xc3 b\"}}"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->text, "a\xef\xbf\xbd\xef\xbf\xbd b");
}

TEST(ChatAnswerTest, TextIsBounded) {
  std::string text(kTextBytesMax - 1, 'x');
  text += "\xc3\xa9 and more";
  const absl::StatusOr<ChatAnswer> answer =
      ParseChatAnswer(Answer(absl::StrCat(R"({"message": {"content": ")", text, "\"}}")));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->text, std::string(kTextBytesMax - 1, 'x')) << "no half character";
  EXPECT_EQ(answer->finish, v1::Completion::LENGTH);
}

TEST(ChatAnswerTest, NonsenseInUsageIsNotKnown) {
  for (const char* usage :
       {"null", "3", "[]", R"({"prompt_tokens": -1, "completion_tokens": -5})",
        R"({"prompt_tokens": 2147483648, "completion_tokens": 18446744073709551615})",
        R"({"prompt_tokens": "12", "completion_tokens": 1.5})",
        R"({"prompt_tokens": 1e99, "completion_tokens": null})"}) {
    const absl::StatusOr<ChatAnswer> answer =
        ParseChatAnswer(Answer(R"({"message": {"content": "x"}})", usage));
    ASSERT_TRUE(answer.ok()) << usage << answer.status();
    EXPECT_EQ(answer->prompt_tokens, 0) << usage;
    EXPECT_EQ(answer->completion_tokens, 0) << usage;
  }
}

TEST(ChatAnswerTest, WhatIsNoChatCompletion) {
  for (const char* body :
       {"", "<html>", "null", "[]", "{}", R"({"choices": []})", R"({"choices": {}})",
        R"({"choices": [null]})", R"({"choices": [{}]})", R"({"choices": [{"message": "x"}]})",
        R"({"choices": [{"message": {"content": 3}}]})",
        R"({"choices": [{"message": {"content": {"text": "x"}}}]})",
        R"({"error": {"message": "overloaded"}})",
        R"({"choices": [{"message": {"content": "x"}})"}) {
    EXPECT_FALSE(ParseChatAnswer(body).ok()) << body;
  }
}

TEST(ChatAnswerTest, DeepJsonIsRefusedAndHarmless) {
  constexpr size_t kLevels = 300'000;
  for (const char* level : {"[", R"({"a":)"}) {
    std::string body = R"({"choices": )";
    for (size_t i = 0; i < kLevels; ++i) body += level;
    EXPECT_FALSE(ParseChatAnswer(body).ok());
  }
  const std::string closed =
      absl::StrCat(R"({"choices": [{"message": {"content": "x"}}], "deep": )",
                   std::string(kLevels, '['), std::string(kLevels, ']'), "}");
  EXPECT_FALSE(ParseChatAnswer(closed).ok());
}

}  // namespace
}  // namespace whetstone
