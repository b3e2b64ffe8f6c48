#include "coordinator/endpoint/chat_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/endpoint/http_server_testing.h"

namespace whetstone {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kKey[] = "sk-secret-0123456789";

// A LogCapture has what is logged while it lives.
class LogCapture {
 public:
  LogCapture() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "capture", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~LogCapture() { spdlog::set_default_logger(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  const std::shared_ptr<spdlog::logger> before_;
};

class ChatClientTest : public testing::Test {
 protected:
  ChatClientTest() {
    sampling_.set_max_new_tokens(64);
    sampling_.set_temperature(1);
    v1::Message& message = *group_.add_messages();
    message.set_role("user");
    message.set_content("the prompt");
  }

  // Starts a server that gives these answers in turn, the last one again and again.
  void Serve(std::vector<ScriptedAnswer> answers) {
    ServeBy([answers = std::move(answers)](const ScriptedRequest& request) {
      const auto at = std::min(static_cast<size_t>(request.number), answers.size() - 1);
      return answers[at];
    });
  }
  void ServeBy(ScriptedHttpServer::Script script) {
    server_ = std::make_unique<ScriptedHttpServer>(std::move(script));
    ledger_ = *UsageLedger::Open("", limits_);
    options_.url = server_->url();
    client_ = std::make_unique<ChatClient>(options_, ledger_.get());
  }
  absl::StatusOr<ChatAnswer> Complete(const std::function<bool()>& cancelled = {}) {
    return client_->Complete({group_.messages(), sampling_, 7}, cancelled);
  }
  json Sent(size_t request) const { return json::parse(server_->requests().at(request).body); }

  ChatClientOptions options_ = {.url = {},
                                .model = "qwen",
                                .key = kKey,
                                .pause_min = milliseconds(1),
                                .pause_max = milliseconds(2),
                                .retry_after_max = milliseconds(3)};
  UsageLimits limits_;
  v1::PromptGroup group_;
  v1::SamplingParams sampling_;
  std::unique_ptr<ScriptedHttpServer> server_;
  std::unique_ptr<UsageLedger> ledger_;
  std::unique_ptr<ChatClient> client_;
};

const ScriptedAnswer kGood = {.body = ChatCompletion("int x;")};

ScriptedAnswer Refusal(const std::string& message, int status = 400) {
  return {.status = status, .body = json{{"error", {{"message", message}}}}.dump()};
}

TEST_F(ChatClientTest, AsksOnceForOneCompletion) {
  Serve({kGood});
  const absl::StatusOr<ChatAnswer> answer = Complete();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->text, "int x;");
  ASSERT_THAT(server_->requests(), SizeIs(1));
  const ScriptedRequest request = server_->requests()[0];
  EXPECT_EQ(request.path, "/v1/chat/completions");
  EXPECT_EQ(request.headers.at("authorization"), absl::StrCat("Bearer ", kKey));
  EXPECT_EQ(Sent(0)["model"], "qwen");
  EXPECT_EQ(Sent(0)["messages"][0]["content"], "the prompt");
  EXPECT_EQ(ledger_->used().requests, 1);
  EXPECT_EQ(ledger_->used().prompt_tokens, 10);
  EXPECT_EQ(ledger_->used().completion_tokens, 5);
}

TEST_F(ChatClientTest, TriesAgainWhatMayPass) {
  Serve({{.status = 500},
         {.status = 500, .body = "<html>"},
         {.status = 429, .headers = {"Retry-After: 1"}},
         {.body = "cut", .length = 1000},
         {.raw = "garbage\r\n\r\n"},
         kGood});
  const absl::StatusOr<ChatAnswer> answer = Complete();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(ledger_->used().requests, 6) << "each of them reached the server";
}

TEST_F(ChatClientTest, WaitsAsLongAsTheServerAsks) {
  options_.retry_after_max = milliseconds(300);
  Serve({{.status = 429, .headers = {"Retry-After: 3600"}}, kGood});
  const auto begin = steady_clock::now();
  EXPECT_TRUE(Complete().ok());
  EXPECT_GE(steady_clock::now() - begin, milliseconds(300));
}

TEST_F(ChatClientTest, TriesThreeTimesAtLeast) {
  options_.retry_for = milliseconds(0);
  Serve({{.status = 503}});
  EXPECT_EQ(Complete().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(server_->requests(), SizeIs(3));
}

TEST_F(ChatClientTest, GivesUpInTheEnd) {
  options_.retry_for = milliseconds(50);
  Serve({{.status = 503, .body = R"({"error": {"message": "overloaded"}})"}});
  const absl::StatusOr<ChatAnswer> answer = Complete();
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(answer.status().message()),
              testing::AllOf(HasSubstr("no completion in "), HasSubstr(server_->url()),
                             HasSubstr("overloaded")));
  EXPECT_GE(server_->requests().size(), 2u);
}

TEST_F(ChatClientTest, ARequestThatTakesTooLongIsTriedAgain) {
  options_.timeout = milliseconds(200);
  Serve({{.silent = true}, kGood});
  const absl::StatusOr<ChatAnswer> answer = Complete();
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(ledger_->used().requests, 2);
}

TEST_F(ChatClientTest, ADeadlineEndsACompletion) {
  sampling_.set_deadline_s(0.2);
  Serve({{.silent = true}});
  const absl::StatusOr<ChatAnswer> answer = Complete();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->finish, v1::Completion::DEADLINE);
  EXPECT_EQ(answer->text, "");
  EXPECT_EQ(ledger_->used().requests, 1);
}

TEST_F(ChatClientTest, PermanentErrorsEndItAtOnce) {
  const std::pair<int, absl::StatusCode> cases[] = {
      {401, absl::StatusCode::kUnauthenticated}, {403, absl::StatusCode::kPermissionDenied},
      {404, absl::StatusCode::kInvalidArgument}, {400, absl::StatusCode::kInvalidArgument},
      {307, absl::StatusCode::kInvalidArgument},
  };
  for (const auto& [status, code] : cases) {
    Serve({Refusal("no", status)});
    EXPECT_EQ(Complete().status().code(), code) << status;
    EXPECT_THAT(server_->requests(), SizeIs(1)) << status;
  }
}

TEST_F(ChatClientTest, NobodyListens) {
  options_.retry_for = milliseconds(20);
  Serve({kGood});
  server_.reset();
  EXPECT_EQ(Complete().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ledger_->used().requests, 0) << "no request reached a server";
}

TEST_F(ChatClientTest, SomethingElseThanACompletionIsTriedThreeTimes) {
  const ScriptedAnswer cases[] = {
      {.body = "<html>\n<body>nginx"},
      {.body = R"({"error": "none today"})"},
      {.body = std::string(200'000, '[')},
      {.body = R"({"choices": []})"},
      {.body = ""},
      {.raw = "HTTP/1.1 200 OK\r\nContent-Le"},
      {.body = kGood.body, .length = kGood.body.size() - 3},
  };
  for (const ScriptedAnswer& answer : cases) {
    Serve({answer});
    const absl::Status status = Complete().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << answer.body.substr(0, 40);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat(server_->url(),
                                       "/chat/completions sent something else than "
                                       "a chat completion: ")));
    EXPECT_LT(status.message().size(), 300u);
    EXPECT_THAT(server_->requests(), SizeIs(3)) << answer.body.substr(0, 40);
  }
  Serve({cases[0], cases[1], kGood});
  EXPECT_TRUE(Complete().ok());
}

TEST_F(ChatClientTest, AnErrorWithTheStatusOfASuccessIsJudgedAsOne) {
  const ScriptedAnswer later = {.body = R"({"error": {"code": 503, "message": "overloaded"}})"};
  Serve({later, later, later, later, later, kGood});
  EXPECT_TRUE(Complete().ok()) << "asked again more than three times";
  Serve({{.body = R"({"error": {"code": 401, "message": "expired"}})"}});
  EXPECT_EQ(Complete().status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(ChatClientTest, APromptThatAFilterRefusesIsAnsweredWithNothing) {
  Serve({{.status = 400, .body = R"({"error": {"code": "content_filter", "message": "no"}})"}});
  const absl::StatusOr<ChatAnswer> answer = Complete();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->text, "");
}

TEST_F(ChatClientTest, WhoDoesNotCountTokensIsCountedByBytes) {
  Serve({{.body = R"({"choices": [{"message": {"content": "12345678"}}]})"}});
  ASSERT_TRUE(Complete().ok());
  EXPECT_EQ(ledger_->used().completion_tokens, 2);
  EXPECT_GT(ledger_->used().prompt_tokens, 10);
}

TEST_F(ChatClientTest, ATooLargeResponseIsNoCompletion) {
  Serve({{.body = std::string(kResponseBytesMax + 1, ' ')}});
  const absl::Status status = Complete().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("8 MiB"));
  EXPECT_THAT(server_->requests(), SizeIs(3));
}

TEST_F(ChatClientTest, LeavesOutWhatTheServerRefuses) {
  LogCapture log;
  Serve({Refusal("unknown parameter: 'seed'"), Refusal("max_tokens or max_completion_tokens?"),
         kGood});
  ASSERT_TRUE(Complete().ok());
  ASSERT_TRUE(Complete().ok());
  ASSERT_THAT(server_->requests(), SizeIs(4));
  EXPECT_TRUE(Sent(0).contains("seed") && Sent(0).contains("max_tokens") &&
              Sent(0).contains("max_completion_tokens"));
  EXPECT_FALSE(Sent(1).contains("seed"));
  EXPECT_TRUE(Sent(1).contains("max_tokens"));
  for (const size_t request : {2, 3}) {
    EXPECT_FALSE(Sent(request).contains("seed") || Sent(request).contains("max_tokens"));
    EXPECT_EQ(Sent(request)["max_completion_tokens"], 64);
  }
  EXPECT_EQ(ledger_->used().requests, 4);
  EXPECT_THAT(log.text(), HasSubstr("does not take seed"));
  EXPECT_THAT(log.text(), HasSubstr("does not take max_tokens"));
  EXPECT_THAT(log.text(), Not(HasSubstr("the prompt")));
}

TEST_F(ChatClientTest, OneBoundOnTokensStays) {
  Serve({Refusal("unknown: max_completion_tokens"), Refusal("unknown: max_tokens")});
  const absl::Status status = Complete().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("unknown: max_tokens"));
  EXPECT_THAT(server_->requests(), SizeIs(2));
}

TEST_F(ChatClientTest, ManyThreadsLearnARefusalOnce) {
  LogCapture log;
  ServeBy([](const ScriptedRequest& request) {
    return json::parse(request.body).contains("seed") ? Refusal("unknown 'seed'") : kGood;
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back([&] { EXPECT_TRUE(Complete().ok()); });
  for (std::thread& thread : threads) thread.join();
  const std::string text = log.text();
  EXPECT_THAT(text, HasSubstr("seed"));
  EXPECT_EQ(text.find("does not take"), text.rfind("does not take")) << text;
}

TEST_F(ChatClientTest, TheKeyIsInNoMessageAndNoLog) {
  LogCapture log;
  const std::string echo = absl::StrCat("Incorrect key: ", kKey);
  Serve({Refusal(echo + ", and unknown 'seed'"),
         Refusal(echo, 429),
         {.body = echo},
         Refusal(echo, 401)});
  const absl::Status refused = Complete().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Incorrect key: [key]"));
  EXPECT_THAT(server_->requests(), SizeIs(4));
  Serve({{.body = echo}});
  const absl::Status other = Complete().status();
  EXPECT_EQ(other.code(), absl::StatusCode::kUnavailable);
  for (const std::string& text :
       {log.text(), std::string(refused.message()), std::string(other.message())}) {
    EXPECT_THAT(text, HasSubstr("[key]"));
    EXPECT_THAT(text, Not(HasSubstr(kKey)));
  }
}

TEST_F(ChatClientTest, LimitsHold) {
  limits_.requests_max = 3;
  Serve({{.status = 500}, kGood});
  EXPECT_TRUE(Complete().ok());
  EXPECT_TRUE(Complete().ok());
  const absl::Status status = Complete().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("policy.requests_max: all 3 requests"));
  EXPECT_THAT(server_->requests(), SizeIs(3));
}

TEST_F(ChatClientTest, ACancelledRequestEndsSoon) {
  Serve({{.silent = true}});
  const auto begin = steady_clock::now();
  const absl::Status status = Complete([&] { return server_->hanging() > 0; }).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_LT(steady_clock::now() - begin, seconds(30)) << "not the request's ten minutes";
  EXPECT_EQ(ledger_->used().requests, 1) << "it reached the server";
}

TEST_F(ChatClientTest, ACancelledPauseEndsSoon) {
  options_.pause_min = options_.pause_max = seconds(600);
  options_.retry_for = seconds(3600);
  Serve({{.status = 500}});
  const auto begin = steady_clock::now();
  const absl::Status status = Complete([&] { return ledger_->used().requests > 0; }).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_LT(steady_clock::now() - begin, seconds(60));
}

TEST_F(ChatClientTest, NoMoreRequestsAtOnceThanAllowed) {
  options_.concurrency = 3;
  std::mutex mutex;
  std::condition_variable changed;
  int here = 0, turn = 0;
  // Requests are answered three at a time: fewer at once would never end.
  ServeBy([&](const ScriptedRequest&) {
    std::unique_lock<std::mutex> lock(mutex);
    const int mine = turn;
    if (++here == 3) {
      here = 0;
      ++turn;
      changed.notify_all();
    }
    EXPECT_TRUE(changed.wait_for(lock, seconds(60), [&] { return turn != mine; }));
    return kGood;
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t) threads.emplace_back([&] { EXPECT_TRUE(Complete().ok()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(server_->requests(), SizeIs(12));
  EXPECT_EQ(server_->most_at_once(), 3);
}

TEST(ApiUrlTest, JoinsBaseAndPath) {
  EXPECT_EQ(*ApiUrl("http://127.0.0.1:1/v1", "/models", true), "http://127.0.0.1:1/v1/models");
  EXPECT_EQ(*ApiUrl("http://127.0.0.1:1/v1/", "/models", true), "http://127.0.0.1:1/v1/models");
  for (const char* base : {"http://127.0.0.1/v1?key=secret", "http://127.0.0.1/v1#secret"}) {
    const absl::Status status = ApiUrl(base, "/models", true).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << base;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret")));
  }
  EXPECT_FALSE(ApiUrl("http://example.com/v1", "/models", true).ok());
}

}  // namespace
}  // namespace whetstone
