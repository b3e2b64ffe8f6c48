#include "cpu_bench_worker/screen/screen_client.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/tree_testing.h"
#include "cpu_bench_worker/problem/test_problems.h"

namespace whetstone {
namespace {

struct Process {
  pid_t parent = 0;
  std::string name;
};

std::map<pid_t, Process> Processes() {
  std::map<pid_t, Process> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    if (pid.find_first_not_of("0123456789") != std::string::npos || !std::getline(file, stat))
      continue;
    // PID (NAME) STATE PARENT …
    const size_t open = stat.find('('), close = stat.rfind(')');
    Process& process = all[std::stoi(pid)];
    process.name = stat.substr(open + 1, close - open - 1);
    std::string state;
    std::istringstream(stat.substr(close + 1)) >> state >> process.parent;
  }
  return all;
}

// This process's screeners, and whether each reads a candidate, in a child of its own.
std::map<pid_t, bool> Screeners() {
  const std::map<pid_t, Process> all = Processes();
  const auto screens = [&](pid_t pid) {
    return all.count(pid) > 0 && all.at(pid).name == "whet-screener";
  };
  const auto ours = [&](pid_t pid) {
    while (pid != getpid() && all.count(pid) > 0) pid = all.at(pid).parent;
    return pid == getpid();
  };
  std::map<pid_t, bool> screeners;
  for (const auto& [pid, process] : all) {
    if (!screens(pid) || !ours(pid)) continue;
    if (screens(process.parent))
      screeners[process.parent] = true;
    else
      screeners.emplace(pid, false);
  }
  return screeners;
}

class ScreenClientTest : public ::testing::Test {
 protected:
  void Create(int screeners) {
    auto client = ScreenClient::Create(BinDir(), {}, screeners);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = std::move(*client);
    auto config = client_->Prepare(problem_);
    ASSERT_TRUE(config.ok()) << config.status();
    config_ = *std::move(config);
  }
  ScreenReport Screen(const std::string& source) { return client_->Screen(config_, source); }

  const v1::Problem problem_ = MatmulProblem();
  std::unique_ptr<ScreenClient> client_;
  ScreenConfig config_;
};

TEST_F(ScreenClientTest, AsManyCandidatesAreReadAtOnceAsThereMayBeScreeners) {
  Create(2);
  EXPECT_EQ(Screeners().size(), 1u) << "the second is started when it is needed";
  EXPECT_TRUE(Eventually([&] {
    std::vector<std::future<ScreenReport>> reports;
    for (int i = 0; i < 4; ++i)
      reports.push_back(
          std::async(std::launch::async, [&] { return Screen(problem_.reference()); }));
    for (auto& report : reports) {
      const ScreenReport read = report.get();
      EXPECT_TRUE(read.status.ok()) << read.status;
      EXPECT_EQ(read.outcome, v1::OUTCOME_UNSPECIFIED) << read.detail;
    }
    return Screeners().size() == 2;
  }));
}

TEST_F(ScreenClientTest, AScreenerThatWentIsNoCandidatesFault) {
  Create(1);
  for (const auto& [pid, reads] : Screeners()) kill(pid, SIGKILL);
  const ScreenReport report = Screen(problem_.reference());
  EXPECT_TRUE(report.status.ok()) << report.status;
  EXPECT_EQ(report.outcome, v1::OUTCOME_UNSPECIFIED) << report.detail;
}

TEST_F(ScreenClientTest, ACandidateThatTwoScreenersDoNotSurviveBroughtThemDown) {
  Create(1);
  // A second and more of the parser's time, in which it is seen to read.
  std::string slow = problem_.reference();
  absl::StrAppend(&slow,
                  "constexpr int Spin(int n) { int s = 0; for (int i = 0; i < n; ++i) s += i & 1; "
                  "return s; }\n");
  for (int i = 0; i < 8; ++i)
    absl::StrAppend(&slow, "static_assert(Spin(200000 + ", i, ") > 0);\n");
  std::atomic<bool> over = false;
  std::thread killer([&] {
    while (!over)
      for (const auto& [pid, reads] : Screeners())
        if (reads) kill(pid, SIGKILL);
  });
  const ScreenReport report = Screen(slow);
  over = true;
  killer.join();
  EXPECT_TRUE(report.status.ok()) << report.status;
  EXPECT_EQ(report.outcome, v1::COMPILE_ERROR);
  EXPECT_EQ(report.detail, "the program brought the parser down");
  EXPECT_EQ(Screen(problem_.reference()).outcome, v1::OUTCOME_UNSPECIFIED) << "the next one";
}

}  // namespace
}  // namespace whetstone
