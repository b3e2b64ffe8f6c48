#include "coordinator/services/local_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/services/health.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using State = ServiceEvent::State;

class LocalServiceTest : public testing::Test {
 protected:
  LocalServiceOptions Options(std::vector<std::string> flags = {}) {
    LocalServiceOptions options;
    options.name = "worker";
    options.target = "unix:" + dir_->path() + "/s.sock";
    options.argv = {BinDir() + "/test_service", "--listen", options.target};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    options.log_path = dir_->path() + "/worker.log";
    options.on_event = [this](const ServiceEvent& event) {
      const std::lock_guard<std::mutex> lock(mutex_);
      events_.push_back(event);
    };
    return options;
  }
  int Count(State state) {
    const std::lock_guard<std::mutex> lock(mutex_);
    int n = 0;
    for (const ServiceEvent& event : events_) n += event.state == state;
    return n;
  }
  ServiceEvent Last() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return events_.back();
  }
  absl::StatusOr<TempDir> dir_ = TempDir::Make("svc");
  std::mutex mutex_;
  std::vector<ServiceEvent> events_;
};

TEST_F(LocalServiceTest, StartsAndStops) {
  const LocalServiceOptions options = Options();
  {
    LocalService service(options);
    ASSERT_TRUE(service.WaitReady(nullptr).ok());
    EXPECT_TRUE(CheckServing(options.target, seconds(5)).ok());
    EXPECT_EQ(Count(State::kReady), 1);
  }
  EXPECT_FALSE(CheckServing(options.target, milliseconds(200)).ok());
  EXPECT_EQ(Count(State::kLost), 0) << "stopping it is not a loss";
}

TEST_F(LocalServiceTest, WhatCannotStartFailsAtOnceWithItsLastWords) {
  LocalService service(Options({"--refuse"}));
  const absl::Status status = service.WaitReady(nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("exit code 3"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no memory for the model"));
  EXPECT_EQ(Count(State::kLost), 0) << "restarting would not help";
}

TEST_F(LocalServiceTest, MissingBinaryIsNamed) {
  LocalServiceOptions options = Options();
  options.argv[0] = "/nonexistent/whet-worker";
  LocalService service(options);
  EXPECT_THAT(std::string(service.WaitReady(nullptr).message()), HasSubstr("whet-worker"));
}

TEST_F(LocalServiceTest, IsRestartedThreeTimesAndThenGivenUp) {
  const std::string die_file = dir_->path() + "/die";
  LocalService service(Options({"--die-file", die_file}));
  for (int life = 1; life <= 4; ++life) {
    ASSERT_TRUE(Eventually([&] { return Count(State::kReady) == life; })) << life;
    ASSERT_TRUE(WriteFileAtomically(die_file, "now").ok());
  }
  ASSERT_TRUE(Eventually([&] { return Count(State::kFailed) == 1; }));
  EXPECT_EQ(Count(State::kLost), 3);
  EXPECT_EQ(Count(State::kReady), 4);
  EXPECT_THAT(Last().detail, HasSubstr("about to die"));
  EXPECT_THAT(Last().detail, HasSubstr("restarted 3 times"));
  EXPECT_FALSE(service.status().ok());
  const std::lock_guard<std::mutex> lock(mutex_);
  bool first = true;
  for (const ServiceEvent& event : events_) {
    if (event.state != State::kReady) continue;
    EXPECT_EQ(event.restarted, !first);
    first = false;
  }
}

TEST_F(LocalServiceTest, OneThatWorkedForLongMayDieAsOftenAgain) {
  const std::string die_file = dir_->path() + "/die";
  LocalServiceOptions options = Options({"--die-file", die_file});
  options.settled = milliseconds(0);  // however short its life
  LocalService service(options);
  for (int life = 1; life <= 6; ++life) {
    ASSERT_TRUE(Eventually([&] { return Count(State::kReady) == life; })) << life;
    ASSERT_TRUE(WriteFileAtomically(die_file, "now").ok());
  }
  ASSERT_TRUE(Eventually([&] { return Count(State::kReady) == 7; }));
  EXPECT_EQ(Count(State::kFailed), 0);
}

TEST_F(LocalServiceTest, WaitingCanBeCancelled) {
  LocalServiceOptions options = Options();
  options.argv = {"sh", "-c", "exec sleep 60"};
  LocalService service(options);
  EXPECT_EQ(service.WaitReady([] { return true; }).code(), absl::StatusCode::kCancelled);
}

TEST_F(LocalServiceTest, NeverHealthyMeetsTheDeadline) {
  LocalServiceOptions options = Options();
  options.argv = {"sh", "-c", "echo thinking; exec sleep 60"};
  options.start_deadline = seconds(2);
  LocalService service(options);
  const absl::Status status = service.WaitReady(nullptr);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did not become healthy"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("thinking"));
}

}  // namespace
}  // namespace whetstone
