#include "coordinator/endpoint/endpoint_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "coordinator/endpoint/http_server_testing.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kModels[] = R"({"object": "list", "data": [{"id": "qwen"}, {"id": "llama"}, 3]})";

absl::Status Check(const ScriptedAnswer& answer, const std::string& model,
                   const std::string& key = "") {
  const ScriptedHttpServer server([&](const ScriptedRequest& request) {
    EXPECT_EQ(request.method, "GET");
    EXPECT_EQ(request.path, "/v1/models");
    return answer;
  });
  return CheckEndpoint(server.url(), model, key, seconds(60));
}

TEST(EndpointCheckTest, IsThere) {
  const ScriptedAnswer cases[] = {
      {.body = kModels},
      {.status = 404},
      {.status = 405},
      {.body = "{}"},
      {.body = "[]"},
      {.body = R"({"data": []})"},
      {.body = R"({"data": 3})"},
  };
  for (const ScriptedAnswer& answer : cases) {
    EXPECT_TRUE(Check(answer, "llama").ok()) << answer.body << Check(answer, "llama");
  }
}

TEST(EndpointCheckTest, NamesAreTakenAsServersTakeThem) {
  const ScriptedAnswer list = {.body = R"({"data": [{"id": "models/gemini"}, {"id": "coder:latest"},
      {"id": "org/big"}]})"};
  for (const char* model : {"gemini", "coder", "org/big:nitro", "/models/of/its/own"}) {
    EXPECT_TRUE(Check(list, model).ok()) << model;
  }
  EXPECT_FALSE(Check(list, "code").ok());
}

TEST(EndpointCheckTest, HasNoSuchModel) {
  const absl::Status status = Check({.body = kModels}, "gpt");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("no model 'gpt'"), HasSubstr("list: qwen, llama")));
  std::string many = R"({"data": [{"id": "m0"})";
  for (int i = 1; i < 100; ++i) absl::StrAppend(&many, R"(, {"id": "m)", i, "\"}");
  const absl::Status first_ten = Check({.body = many + "]}"}, "gpt");
  EXPECT_THAT(std::string(first_ten.message()),
              testing::AllOf(HasSubstr("m9, and 90 more"), Not(HasSubstr("m10"))));
}

TEST(EndpointCheckTest, IsNotTheApi) {
  EXPECT_EQ(Check({.body = "<html>welcome"}, "qwen").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Check({.status = 301, .headers = {"Location: /"}}, "qwen").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckEndpoint("ftp://x/v1", "qwen", "", seconds(1)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(EndpointCheckTest, WantsAnotherKey) {
  const ScriptedAnswer answer = {.status = 401, .body = R"({"error": "no: sk-12345"})"};
  const absl::Status none = Check(answer, "qwen");
  EXPECT_EQ(none.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(none.message()), HasSubstr("asks for a key"));
  const absl::Status refused = Check(answer, "qwen", "sk-12345");
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("sk-12345")));
  EXPECT_TRUE(Check({.status = 403}, "qwen", "sk-12345").ok()) << "some keys may not see the list";
}

TEST(EndpointCheckTest, NobodyAnswers) {
  auto server = std::make_unique<ScriptedHttpServer>(
      [](const ScriptedRequest&) { return ScriptedAnswer{.silent = true}; });
  const std::string url = server->url();
  const absl::Status silent = CheckEndpoint(url, "qwen", "", milliseconds(200));
  EXPECT_EQ(silent.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(silent.message()), HasSubstr("no server answers at " + url));
  server.reset();
  const absl::Status gone = CheckEndpoint(url, "qwen", "", seconds(60));
  EXPECT_EQ(gone.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("no server answers at " + url));
  EXPECT_EQ(Check({.status = 503}, "qwen").code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Check({.status = 500}, "qwen").ok()) << "it is there, and cannot make its list";
}

}  // namespace
}  // namespace whetstone
