#include "coordinator/endpoint/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "coordinator/endpoint/http_server_testing.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kHttpKey[] = "sk-secret-0123456789";

ScriptedHttpServer::Script Always(const ScriptedAnswer& answer) {
  return [answer](const ScriptedRequest&) { return answer; };
}

absl::StatusOr<HttpResponse> Get(const ScriptedHttpServer& server) {
  return SendHttp({.url = server.url() + "/models"}, /*cancelled=*/{});
}

TEST(HttpTest, GetsAndPosts) {
  const ScriptedHttpServer server(Always({.status = 418, .body = "short and stout"}));
  const absl::StatusOr<HttpResponse> got = Get(server);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->status, 418);
  EXPECT_EQ(got->body, "short and stout");
  EXPECT_EQ(got->retry_after_s, std::nullopt);

  const std::string large(3 << 20, 'x');
  bool sent = false;
  const absl::StatusOr<HttpResponse> posted =
      SendHttp({.url = server.url() + "/chat", .body = large, .key = kHttpKey}, {}, &sent);
  ASSERT_TRUE(posted.ok()) << posted.status();
  EXPECT_TRUE(sent);
  const std::vector<ScriptedRequest> requests = server.requests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].method, "GET");
  EXPECT_EQ(requests[0].path, "/v1/models");
  EXPECT_EQ(requests[0].headers.count("authorization"), 0u);
  EXPECT_EQ(requests[1].method, "POST");
  EXPECT_EQ(requests[1].body, large);
  EXPECT_EQ(requests[1].headers.at("content-type"), "application/json");
  EXPECT_EQ(requests[1].headers.at("authorization"), absl::StrCat("Bearer ", kHttpKey));
}

TEST(HttpTest, RetryAfterIsSecondsOrADate) {
  const ScriptedHttpServer in_seconds(Always({.status = 429, .headers = {"Retry-After: 7"}}));
  EXPECT_EQ(Get(in_seconds)->retry_after_s, 7);
  const ScriptedHttpServer at_a_date(
      Always({.status = 503, .headers = {"Retry-After: Thu, 01 Jan 2099 00:00:00 GMT"}}));
  EXPECT_GT(Get(at_a_date)->retry_after_s.value_or(0), 1'000'000);
  const ScriptedHttpServer nonsense(Always({.status = 503, .headers = {"Retry-After: soon"}}));
  EXPECT_EQ(Get(nonsense)->retry_after_s, std::nullopt);
}

TEST(HttpTest, ASlowServerIsGivenUp) {
  const ScriptedHttpServer server(Always({.silent = true}));
  bool sent = false;
  const absl::StatusOr<HttpResponse> response =
      SendHttp({.url = server.url(), .timeout = milliseconds(200)}, {}, &sent);
  EXPECT_EQ(response.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(response.status().message()), HasSubstr(server.url()));
  EXPECT_TRUE(sent);
}

TEST(HttpTest, IsCancelledWhileNothingComes) {
  const ScriptedHttpServer server(Always({.silent = true}));
  steady_clock::time_point said;
  const auto cancelled = [&] {
    if (server.hanging() == 0) return false;
    if (said == steady_clock::time_point()) said = steady_clock::now();
    return true;
  };
  const absl::StatusOr<HttpResponse> response = SendHttp({.url = server.url()}, cancelled);
  EXPECT_EQ(response.status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(steady_clock::now() - said, seconds(10));
}

TEST(HttpTest, IsCancelledInTheMiddleOfABody) {
  const ScriptedHttpServer server(Always({.body = "begin", .length = 1000, .hang = true}));
  const absl::StatusOr<HttpResponse> response =
      SendHttp({.url = server.url()}, [&] { return server.hanging() > 0; });
  EXPECT_EQ(response.status().code(), absl::StatusCode::kCancelled);
}

TEST(HttpTest, WhatIsNoWholeResponseIsUnavailable) {
  const std::pair<const char*, ScriptedAnswer> cases[] = {
      {"cut off", {.body = "begin", .length = 1000}},
      {"garbage", {.raw = "\x01\x02\x03 nonsense\r\n\r\n"}},
      {"nothing", {.raw = ""}},
      {"a length that is none", {.raw = "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nx"}},
  };
  for (const auto& [name, answer] : cases) {
    const ScriptedHttpServer server(Always(answer));
    const absl::StatusOr<HttpResponse> response = Get(server);
    if (response.ok()) {
      ADD_FAILURE() << name << ": " << response->status << " " << response->body;
      continue;
    }
    EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable)
        << name << ": " << response.status();
    EXPECT_THAT(std::string(response.status().message()), HasSubstr(server.url())) << name;
  }
}

TEST(HttpTest, ATooShortLengthCutsTheBody) {
  const ScriptedHttpServer server(Always({.body = "0123456789", .length = 4}));
  EXPECT_EQ(Get(server)->body, "0123");
}

TEST(HttpTest, TheResponseIsBounded) {
  const ScriptedHttpServer server(Always({.body = std::string(kResponseBytesMax + 1, 'x')}));
  const absl::StatusOr<HttpResponse> response = Get(server);
  EXPECT_EQ(response.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(response.status().message()), HasSubstr("more than 8 MiB"));
}

TEST(HttpTest, ARedirectIsNotFollowed) {
  const ScriptedHttpServer target(Always({.body = "caught"}));
  const ScriptedHttpServer server(
      Always({.status = 307, .headers = {"Location: " + target.url() + "/models"}}));
  const absl::StatusOr<HttpResponse> response =
      SendHttp({.url = server.url(), .key = kHttpKey}, /*cancelled=*/{});
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 307);
  EXPECT_THAT(target.requests(), IsEmpty());
}

TEST(HttpTest, NobodyListens) {
  auto server = std::make_unique<ScriptedHttpServer>(Always({}));
  const std::string url = server->url();
  server.reset();
  bool sent = true;
  const absl::StatusOr<HttpResponse> response = SendHttp({.url = url, .key = kHttpKey}, {}, &sent);
  EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(response.status().message()), HasSubstr(url));
  EXPECT_THAT(std::string(response.status().message()), Not(HasSubstr(kHttpKey)));
  EXPECT_FALSE(sent);
}

TEST(HttpTest, NoProxyStandsBeforeThisMachine) {
  const ScriptedHttpServer proxy(Always({.body = "proxy"}));
  const ScriptedHttpServer server(Always({.body = "server"}));
  setenv("http_proxy", absl::StrCat("http://127.0.0.1:", proxy.port()).c_str(), 1);
  const absl::StatusOr<HttpResponse> response = Get(server);
  unsetenv("http_proxy");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->body, "server");
}

TEST(UrlTest, AKeyTravelsOnlyWhereNobodyReadsIt) {
  for (const char* url :
       {"https://api.example.com/v1", "http://localhost:8000/v1", "http://127.0.0.1:8000/v1",
        "http://127.3.2.1/v1", "http://[::1]:8000/v1", "HTTP://LOCALHOST/v1"}) {
    EXPECT_TRUE(CheckUrl(url, /*with_key=*/true).ok()) << url << ": " << CheckUrl(url, true);
  }
  for (const char* url : {"http://api.example.com/v1", "http://10.0.0.7:8000/v1",
                          "http://localhost.example.com/v1", "http://127.0.0.1.example.com/v1",
                          "http://[::2]/v1", "http://0.0.0.0:8000/v1", "http://128.0.0.1/v1"}) {
    const absl::Status status = CheckUrl(url, /*with_key=*/true);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(std::string(status.message()), HasSubstr("use https")) << url;
    EXPECT_TRUE(CheckUrl(url, /*with_key=*/false).ok()) << url;
  }
  const absl::StatusOr<HttpResponse> response =
      SendHttp({.url = "http://example.invalid/v1", .key = kHttpKey}, /*cancelled=*/{});
  EXPECT_EQ(response.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(response.status().message()), Not(HasSubstr(kHttpKey)));
}

TEST(UrlTest, OthersAreRefused) {
  for (const char* url : {"", "127.0.0.1:8000", "ftp://127.0.0.1/v1", "file:///etc/passwd",
                          "http://", "http://host:99999/v1", "http://a b/v1", "v1"}) {
    EXPECT_EQ(CheckUrl(url, /*with_key=*/false).code(), absl::StatusCode::kInvalidArgument) << url;
  }
  const absl::Status status = CheckUrl("https://me:hunter2@example.com/v1", false);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("policy.key_env"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace whetstone
