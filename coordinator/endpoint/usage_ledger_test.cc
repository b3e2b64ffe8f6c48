#include "coordinator/endpoint/usage_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <thread>
#include <vector>

#include "common/file.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

constexpr char kLine[] = "{\"requests\":1,\"prompt_tokens\":10,\"completion_tokens\":5}\n";

class UsageLedgerTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<UsageLedger>> Open(const UsageLimits& limits = {}) {
    return UsageLedger::Open(path_, limits);
  }
  void Write(const std::string& text) { ASSERT_TRUE(WriteFileAtomically(path_, text).ok()); }

  const TempDir dir_ = *TempDir::Make("ledger-test");
  const std::string path_ = dir_.path() + "/usage.jsonl";
};

TEST_F(UsageLedgerTest, CountsOverRestarts) {
  for (int i = 0; i < 3; ++i) {
    const auto ledger = Open({.requests_max = 3});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    EXPECT_EQ((*ledger)->used().requests, i);
    ASSERT_TRUE((*ledger)->Reserve().ok());
    EXPECT_TRUE((*ledger)->Settle({1, 10, 5}).ok());
  }
  EXPECT_EQ(*ReadFile(path_), std::string(kLine) + kLine + kLine);
  const auto ledger = Open({.requests_max = 3});
  const absl::Status refused = (*ledger)->Reserve();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(), "policy.requests_max: all 3 requests are used; raise it to go on");
  EXPECT_TRUE((*Open({.requests_max = 4}))->Reserve().ok()) << "raised";
}

TEST_F(UsageLedgerTest, TokensAreLimitedToo) {
  const auto ledger = Open({.tokens_max = 20});
  ASSERT_TRUE((*ledger)->Reserve().ok());
  ASSERT_TRUE((*ledger)->Reserve().ok());
  EXPECT_TRUE((*ledger)->Settle({1, 10, 5}).ok());
  ASSERT_TRUE((*ledger)->Reserve().ok()) << "15 of 20";
  EXPECT_TRUE((*ledger)->Settle({1, 10, 5}).ok());
  const absl::Status refused = (*ledger)->Reserve();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(), "policy.tokens_max: all 20 tokens are used; raise it to go on");
}

TEST_F(UsageLedgerTest, RequestsUnderWayCount) {
  const auto ledger = UsageLedger::Open("", {.requests_max = 2});
  ASSERT_TRUE((*ledger)->Reserve().ok());
  ASSERT_TRUE((*ledger)->Reserve().ok());
  EXPECT_FALSE((*ledger)->Reserve().ok());
  EXPECT_TRUE((*ledger)->Settle({}).ok()) << "never reached the server";
  EXPECT_TRUE((*ledger)->Reserve().ok());
  EXPECT_EQ((*ledger)->used().requests, 0);
}

TEST_F(UsageLedgerTest, ManyThreadsNeverExceedTheLimit) {
  const auto ledger = Open({.requests_max = 100});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      while ((*ledger)->Reserve().ok()) EXPECT_TRUE((*ledger)->Settle({1, 2, 3}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((*Open())->used().requests, 100);
  EXPECT_EQ((*Open())->used().completion_tokens, 300);
}

TEST_F(UsageLedgerTest, ATornLastLineIsRepaired) {
  for (size_t cut = 0; cut < sizeof kLine - 1; ++cut) {
    Write(std::string(kLine) + std::string(kLine).substr(0, cut));
    {
      const auto ledger = Open();
      ASSERT_TRUE(ledger.ok()) << cut << ledger.status();
      const int whole = cut + 1 == sizeof kLine - 1 ? 2 : 1;
      EXPECT_EQ((*ledger)->used().requests, whole) << cut;
      ASSERT_TRUE((*ledger)->Reserve().ok());
      EXPECT_TRUE((*ledger)->Settle({1, 10, 5}).ok());
    }
    const auto again = Open();
    ASSERT_TRUE(again.ok()) << cut << again.status();
    EXPECT_EQ((*again)->used().requests, cut + 1 == sizeof kLine - 1 ? 3 : 2) << cut;
  }
}

TEST_F(UsageLedgerTest, OtherBrokenLinesAreNamed) {
  for (const char* line :
       {"", "nonsense", "{}", "[]", "{\"requests\":1,\"prompt_tokens\":-1,\"completion_tokens\":5}",
        "{\"requests\":1,\"prompt_tokens\":1.5,\"completion_tokens\":5}",
        "{\"requests\":1,\"prompt_tokens\":99999999999999,\"completion_tokens\":5}"}) {
    Write(std::string(kLine) + line + "\n" + kLine);
    const auto ledger = Open();
    EXPECT_EQ(ledger.status().code(), absl::StatusCode::kDataLoss) << line;
    EXPECT_THAT(std::string(ledger.status().message()), HasSubstr(path_ + ":2:")) << line;
  }
}

TEST_F(UsageLedgerTest, HalfALineIsTakenBack) {
  const auto ledger = Open();
  ASSERT_TRUE((*ledger)->Reserve().ok());
  ASSERT_TRUE((*ledger)->Settle({1, 10, 5}).ok());
  ASSERT_TRUE((*ledger)->Reserve().ok());
  // The file may grow by ten bytes only.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{sizeof kLine - 1 + 10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status failed = (*ledger)->Settle({1, 10, 5});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_DFL);
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(std::string(failed.message()), HasSubstr(path_));
  EXPECT_EQ(*ReadFile(path_), kLine);
  EXPECT_EQ((*ledger)->used().requests, 2);
}

TEST_F(UsageLedgerTest, AFolderThatIsMissingIsAnError) {
  EXPECT_FALSE(UsageLedger::Open(dir_.path() + "/missing/usage.jsonl", {}).ok());
}

}  // namespace
}  // namespace whetstone
