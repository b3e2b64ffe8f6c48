#include "coordinator/endpoint/chat_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kUrl[] = "http://127.0.0.1:8000/v1/chat/completions";

std::optional<std::string> RefusedIn(const std::string& body, int status = 400) {
  const json sent = json::parse(R"({"max_completion_tokens": 1, "max_tokens": 1, "temperature": 1,
      "seed": 1, "stop": ["x"], "top_k": 3})");
  return RefusedParameter({.status = status, .body = body}, sent);
}

TEST(RefusedParameterTest, IsNamedInManyWays) {
  const std::pair<const char*, const char*> cases[] = {
      // OpenAI
      {R"({"error": {"message": "'max_tokens' is not supported, use 'max_completion_tokens'.",
          "param": "max_tokens"}})",
       "max_tokens"},
      {R"({"error": {"message": "Unsupported value.", "param": "temperature"}})", "temperature"},
      {R"({"error": {"message": "'max_tokens' and 'max_completion_tokens' at the same time",
          "param": null}})",
       "max_tokens"},
      {R"({"error": {"message": "max_completion_tokens and max_tokens: give one"}})", "max_tokens"},
      {R"({"error": {"message": "Unknown field max_completion_tokens"}})", "max_completion_tokens"},
      // FastAPI
      {R"({"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"],
          "msg": "Extra inputs are not permitted", "input": 7}]})",
       "seed"},
      {R"({"detail": "Unrecognized: top_k"})", "top_k"},
      // transformers serve
      {R"({"detail": "Unexpected keys in the request: {'seed', 'top_k'}"})", "seed"},
      {R"({"error": "Unsupported fields in the request: {'stop'}"})", "stop"},
      {"seed: unknown", "seed"},
      {R"({"error": {"message": "Parameter 'top_k' is not recognized"}})", "top_k"},
      {R"({"error": {"message": "`temperature` and `top_k` cannot both be given"}})",
       "temperature"},
  };
  for (const auto& [body, parameter] : cases) {
    EXPECT_EQ(RefusedIn(std::string(body)), parameter) << body;
  }
  EXPECT_EQ(RefusedIn(R"({"error": {"param": "seed"}})", 422), "seed");
}

TEST(RefusedParameterTest, OtherErrorsNameNone) {
  for (const char* body :
       {"", "{}", "[]", R"({"error": {"message": "the seeds of max_tokens_total", "param": "n"}})",
        R"({"error": {"message": "please stop"}})", R"({"detail": [3, {"loc": 4, "msg": []}]})",
        R"({"detail": [{"loc": ["body", "messages"], "msg": "bad", "input": "seed"}]})"}) {
    EXPECT_EQ(RefusedIn(body), std::nullopt) << body;
  }
  // A value out of range is to be told, not left out; a word in another complaint is only a word.
  for (const char* body :
       {R"({"error": {"message": "Invalid max_tokens value, the valid range is [1, 8192]"}})",
        R"({"error": {"message": "Invalid prompt: flagged near 'rng(seed)'."}})",
        R"({"error": {"message": "temperature must be at most 1", "param": "temperature"}})",
        R"({"detail": "Unknown role {'input': {'max_tokens': 7}}"})"}) {
    EXPECT_EQ(RefusedIn(body), std::nullopt) << body;
  }
  EXPECT_EQ(RefusedIn(R"({"error": {"message": "Unsupported param: top_k"}})", 500), "top_k");
  EXPECT_EQ(RefusedIn(R"({"error": {"message": "Provider returned error", "metadata":
      {"raw": "{\"error\": {\"message\": \"Unsupported value\", \"param\": \"temperature\"}}"}}})"),
            "temperature");
  EXPECT_EQ(RefusedIn(R"({"error": {"param": "seed"}})", 503), std::nullopt);
  EXPECT_EQ(RefusedIn(R"({"error": {"param": "seed"}})", 429), std::nullopt);
}

TEST(StatusOfResponseTest, SaysWhetherToTryAgain) {
  const std::pair<int, absl::StatusCode> cases[] = {
      {300, absl::StatusCode::kInvalidArgument}, {302, absl::StatusCode::kInvalidArgument},
      {400, absl::StatusCode::kInvalidArgument}, {401, absl::StatusCode::kUnauthenticated},
      {402, absl::StatusCode::kInvalidArgument}, {403, absl::StatusCode::kPermissionDenied},
      {404, absl::StatusCode::kInvalidArgument}, {408, absl::StatusCode::kUnavailable},
      {409, absl::StatusCode::kUnavailable},     {422, absl::StatusCode::kInvalidArgument},
      {425, absl::StatusCode::kUnavailable},     {429, absl::StatusCode::kUnavailable},
      {500, absl::StatusCode::kUnavailable},     {503, absl::StatusCode::kUnavailable},
      {599, absl::StatusCode::kUnavailable},
  };
  for (const auto& [http, code] : cases) {
    const absl::Status status = StatusOfResponse(
        {.status = http, .body = R"({"error": {"message": "why"}})"}, kUrl, "qwen");
    EXPECT_EQ(status.code(), code) << http;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(kUrl, " answers ", http)));
  }
  const HttpResponse poor{.status = 429, .body = R"({"error": {"code": "insufficient_quota"}})"};
  EXPECT_EQ(StatusOfResponse(poor, kUrl, "qwen").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(StatusOfResponse({.status = 404, .body = ""}, kUrl, "qwen").message()),
              testing::AllOf(HasSubstr("/v1"), HasSubstr("'qwen'")));
}

TEST(StatusInBodyTest, AnErrorThatCameLateIsOne) {
  EXPECT_EQ(StatusInBody({.status = 200, .body = R"({"error": {"code": 429}})"}), 429);
  EXPECT_EQ(StatusInBody({.status = 200, .body = R"({"error": {"code": "x"}})"}), 502);
  EXPECT_EQ(StatusInBody({.status = 200, .body = R"({"error": null, "choices": []})"}), 200);
  EXPECT_EQ(StatusInBody({.status = 404, .body = R"({"error": {"code": 429}})"}), 404);
}

TEST(RefusesThePromptTest, OthersMayBeAnswered) {
  const auto refuses = [](int status, const char* code) {
    return RefusesThePrompt(
        {.status = status, .body = absl::StrCat(R"({"error": {"code": ")", code, "\"}}")});
  };
  EXPECT_TRUE(refuses(400, "content_filter"));
  EXPECT_FALSE(refuses(400, "context_length_exceeded")) << "it may be so of all";
  EXPECT_TRUE(RefusesThePrompt(
      {.status = 403, .body = R"({"error": {"code": 403, "metadata": {"flagged_input": "x"}}})"}));
  EXPECT_FALSE(refuses(400, "invalid_api_key"));
  EXPECT_FALSE(refuses(500, "content_filter"));
}

TEST(ServerMessageTest, IsOnePrintableLine) {
  EXPECT_EQ(ServerMessage(R"({"error": {"message": "bad\n\tthing\u001b[31m"}})"), "bad thing [31m");
  EXPECT_EQ(ServerMessage(R"({"error": "as a string"})"), "as a string");
  EXPECT_EQ(ServerMessage(R"({"message": "on top"})"), "on top");
  EXPECT_EQ(ServerMessage("<html>\n<b>502</b>"), "<html> <b>502</b>");
  EXPECT_EQ(ServerMessage(R"({"detail": [{"loc": ["body", "top_k"], "msg": "too large",
      "input": "the prompt"}]})"),
            "top_k: too large");
  EXPECT_EQ(ServerMessage(std::string(1000, 'x')), std::string(300, 'x') + "…");
  EXPECT_EQ(ServerMessage(""), "");
}

TEST(OneLineTest, CountsCharacters) {
  EXPECT_EQ(OneLine("\xc3\xa9\xc3\xa9\xc3\xa9", 2), "éé…");
  EXPECT_EQ(OneLine("  a \r\n b  ", 10), "a b");
  EXPECT_EQ(OneLine("ab\xff", 3), "ab\xef\xbf\xbd");
  EXPECT_EQ(OneLine("right \xe2\x80\xae left", 20), "right left");
  EXPECT_EQ(OneLine("exact", 5), "exact");
}

}  // namespace
}  // namespace whetstone
