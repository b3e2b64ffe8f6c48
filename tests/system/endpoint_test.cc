// A model behind an endpoint in the policy's place: `whet discover`, `run`, `replay` and `eval`
// with a scripted server of chat completions that refuses, breaks and comes back. The real one is
// serving_test.cc's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/endpoint/http_server_testing.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr char kKey[] = "sk-whetstone-test-4711";

// Returns a right and faster program; those of other numbers compile to other code.
std::string Program(int number) {
  return absl::StrCat(
      "Let me think.\n```cpp\nvoid multiply(const float* a, const float* b, float* c, int n) {\n"
      "  for (int i = 0; i < n; ++i) {\n    for (int j = 0; j < n; ++j) c[i * n + j] = 0;\n"
      "    if (n == ",
      1000003 + number,
      ") return;\n    for (int k = 0; k < n; ++k) {\n      const float x = a[i * n + k];\n"
      "      for (int j = 0; j < n; ++j) c[i * n + j] += x * b[k * n + j];\n    }\n  }\n}\n```\n");
}

class EndpointTest : public WhetTest {
 protected:
  void SetUp() override {
    WhetTest::SetUp();
    setenv("WHET_TEST_KEY", kKey, /*overwrite=*/1);
    problem_ = Path("multiply.md");
    ASSERT_TRUE(
        WriteFileAtomically(problem_, *ReadFile(SourceDir() + "/tests/system/multiply.md")).ok());
  }
  void TearDown() override { unsetenv("WHET_TEST_KEY"); }

  // The command asks `server` for as few programs as show something.
  std::vector<std::string> Discover(const ScriptedHttpServer& server) const {
    return {"discover", problem_,         "--out",      Path("found"),
            "--budget", "100 candidates", "--endpoint", server.url(),
            "--model",  "writer",         "--set",      "policy.key_env=WHET_TEST_KEY",
            "--yes",    "--json"};
  }
  // A campaign of one problem and `steps` steps of four programs.
  std::string WriteEndpointCampaign(const ScriptedHttpServer& server, int steps) const {
    EXPECT_TRUE(WriteFileAtomically(
                    Path("endpoint.yaml"),
                    absl::StrCat("name: endpoint\nproblems: [multiply.md]\npolicy: {endpoint: \"",
                                 server.url(), "\", model: writer}\ntrain: {steps: ", steps,
                                 ", group_size: 4}\ngenerate: {max_new_tokens: 64}\n"))
                    .ok());
    return Path("endpoint.yaml");
  }
  // Returns the files below `root` that have the key in them.
  static std::vector<std::string> FilesWithTheKey(const std::string& root) {
    std::vector<std::string> files;
    for (const auto& file : fs::recursive_directory_iterator(root)) {
      if (!file.is_regular_file()) continue;
      if (absl::StrContains(ReadFile(file.path().string()).value_or(""), kKey)) {
        files.push_back(file.path().string());
      }
    }
    return files;
  }

  std::string problem_;
};

TEST_F(EndpointTest, AnothersModelGoesOnFromWhatRulesFoundAndAKillLosesNothing) {
  std::atomic<int> written{0}, with_parent{0}, without_key{0};
  ScriptedHttpServer server([&](const ScriptedRequest& request) -> ScriptedAnswer {
    if (request.method == "GET") return {.body = R"({"data": [{"id": "writer"}]})"};
    const auto key = request.headers.find("authorization");
    if (key == request.headers.end() || key->second != absl::StrCat("Bearer ", kKey)) ++without_key;
    if (request.number % 7 == 3)
      return {.status = 429, .body = "{}", .headers = {"Retry-After: 0"}};
    if (request.number % 11 == 5) return {.status = 502, .body = "<html>bad gateway</html>"};
    const json body = json::parse(request.body);
    const std::string asked = body["messages"].back()["content"];
    if (absl::StrContains(asked, "times as fast as the first one")) ++with_parent;
    const int number = written++;
    if (number % 5 == 1) return {.body = ChatCompletion("I cannot help with that.")};
    return {.body = ChatCompletion(Program(number % 8))};
  });
  const std::vector<std::string> command = Discover(server);
  for (const int enough : {6, 24}) {
    const auto killed = StartWhet(command);
    ASSERT_TRUE(Eventually([&] { return written >= enough || killed->Ended(); }, seconds(240)));
    ASSERT_FALSE(killed->Ended()) << killed->Wait(seconds(1)).err;
    killed->Signal(SIGKILL);
    killed->Wait(seconds(20));
  }
  const WhetResult found = Whet(command);
  // 2: its own benchmark found another speed, on a machine that does something else meanwhile.
  ASSERT_TRUE(found.exit_code == 0 || found.exit_code == 2) << found.out << found.err;
  const json result = found.json();
  EXPECT_GT(result["speedup"].get<double>(), 1.2) << found.out << found.err;
  // A fifth of the budget is for rules; ten steps of eight programs are the rest.
  EXPECT_EQ(result["steps_done"], 10) << found.err;
  EXPECT_GT(with_parent, 20) << "three groups of four are shown what was found";
  EXPECT_EQ(without_key, 0);
  // What a killed process had asked and not heard was asked again, no more: eight at a time.
  EXPECT_LE(written, 80 + 2 * 16);
  EXPECT_THAT(FilesWithTheKey(Path("found")), testing::IsEmpty());
  const std::string usage = ReadFile(Path("found/run/logs/endpoint_usage.jsonl")).value_or("");
  EXPECT_GE(std::count(usage.begin(), usage.end(), '\n'), 80);

  const WhetResult replay = Whet({"replay", Path("found/run"), "--json"});
  EXPECT_EQ(replay.exit_code, 0) << replay.out << replay.err;
  EXPECT_THAT(replay.err, HasSubstr("is taken from the journal"));
  EXPECT_EQ(replay.json()["updates"], 10);
  EXPECT_EQ(replay.json()["rollouts"], 80);
}

TEST_F(EndpointTest, ALimitAndAKeyThatIsRefusedEndItAndNothingIsLost) {
  std::atomic<bool> refuses{false};
  ScriptedHttpServer server([&](const ScriptedRequest& request) -> ScriptedAnswer {
    if (request.method == "GET") return {.status = 404, .body = ""};
    if (refuses) return {.status = 401, .body = R"({"error": {"message": "key expired"}})"};
    return {.body = ChatCompletion(Program(request.number % 4))};
  });
  const std::string campaign = WriteEndpointCampaign(server, 3);
  const WhetResult limited = Whet({"run", campaign, "--run-dir", RunDirectory(), "--set",
                                   "policy.requests_max=6", "--set", "policy.concurrency=2"});
  EXPECT_EQ(limited.exit_code, 3) << limited.out << limited.err;
  EXPECT_THAT(
      limited.out,
      AllOf(HasSubstr("writer at http://127.0.0.1:"), HasSubstr("is asked 12 times at most"),
            HasSubstr("policy.requests_max ends it after 6"), HasSubstr("whet resume")));
  EXPECT_THAT(limited.err, HasSubstr("all 6 requests are used"));
  EXPECT_EQ(Rollouts().size(), 6u);
  // Asked again it says the same, and asks nobody.
  const size_t asked = server.requests().size();
  EXPECT_EQ(Whet({"resume", RunDirectory()}).exit_code, 3);
  EXPECT_EQ(server.requests().size(), asked);
  const WhetResult other_keys = Whet({"resume", RunDirectory(), "--set", "seed=9"});
  EXPECT_EQ(other_keys.exit_code, 2);
  const WhetResult more =
      Whet({"resume", RunDirectory(), "--set", "policy.requests_max=40", "--json"});
  EXPECT_EQ(more.exit_code, 0) << more.out << more.err;
  EXPECT_EQ(Rollouts().size(), 12u);

  const std::string other = Path("other");
  refuses = true;
  const WhetResult refused = Whet({"run", campaign, "--run-dir", other});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("401"), HasSubstr("key expired"), HasSubstr("policy.key_env")));
}

TEST_F(EndpointTest, WhatIsWrongIsSaidBeforeAnythingIsMade) {
  ScriptedHttpServer server([](const ScriptedRequest&) -> ScriptedAnswer {
    return {.body = R"({"data": [{"id": "small"}, {"id": "large"}]})"};
  });
  const std::string campaign = WriteEndpointCampaign(server, 1);
  const WhetResult unknown = Whet({"run", campaign, "--run-dir", RunDirectory()});
  EXPECT_EQ(unknown.exit_code, 2) << unknown.err;
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("policy.endpoint"), HasSubstr("no model 'writer'"),
                                 HasSubstr("small, large")));
  const WhetResult nobody = Whet({"run", campaign, "--run-dir", RunDirectory(), "--set",
                                  "policy.endpoint=\"http://127.0.0.1:9/v1\""});
  EXPECT_EQ(nobody.exit_code, 2) << nobody.err;
  EXPECT_THAT(nobody.err, HasSubstr("no server answers at http://127.0.0.1:9/v1"));
  const WhetResult no_key =
      Whet({"run", campaign, "--run-dir", RunDirectory(), "--set", "policy.key_env=NOT_SET"});
  EXPECT_EQ(no_key.exit_code, 2) << no_key.err;
  EXPECT_THAT(no_key.err, HasSubstr("NOT_SET"));
  EXPECT_FALSE(fs::exists(RunDirectory()));
  const WhetResult half = Whet({"discover", problem_, "--endpoint", server.url()});
  EXPECT_EQ(half.exit_code, 2);
  EXPECT_THAT(half.err, HasSubstr("--model"));
}

TEST_F(EndpointTest, ItIsEvaluatedLikeAnyModel) {
  ScriptedHttpServer server([](const ScriptedRequest& request) -> ScriptedAnswer {
    if (request.method == "GET") return {.status = 500, .body = "Internal Server Error"};
    return {.body = ChatCompletion(request.number % 2 == 0 ? Program(1) : "No.")};
  });
  const std::string model = absl::StrCat("far=", server.url(), "#some/writer");
  const WhetResult eval = Whet({"eval", model, "--problems", problem_, "--split", "train",
                                "--samples", "4", "--out", Path("eval"), "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.out << eval.err;
  const json result = eval.json();
  EXPECT_EQ(result["models"][0]["name"], "far") << eval.out;
  EXPECT_NEAR(result["models"][0]["estimates"]["pass@1"]["value"].get<double>(), 0.5, 0.3);
  const WhetResult nameless =
      Whet({"eval", server.url(), "--problems", problem_, "--split", "train"});
  EXPECT_EQ(nameless.exit_code, 2);
  EXPECT_THAT(nameless.err, HasSubstr("URL#MODEL"));
}

}  // namespace
}  // namespace whetstone
