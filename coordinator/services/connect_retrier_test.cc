#include "coordinator/services/connect_retrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/process/child_process.h"
#include "coordinator/services/cluster.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using testing::StartsWith;

void Ignore(const absl::Status&, bool) {}

// Opens at the `n`th attempt, and counts them.
ConnectRetrier::Open AtAttempt(int n, std::atomic<int>* attempts) {
  return [n, attempts](const ConnectRetrier::Stopped&) {
    return ++*attempts >= n ? absl::OkStatus() : absl::UnavailableError("nobody there");
  };
}

TEST(ConnectRetrierTest, WhatIsNecessaryMustOpenAtOnce) {
  std::atomic<int> first = 0, second = 0;
  ConnectRetrier retrier;
  retrier.Start("trainer", /*necessary=*/true, AtAttempt(1, &first), Ignore);
  retrier.Start("worker", /*necessary=*/true, AtAttempt(2, &second), Ignore);
  const absl::Status status = retrier.Wait({});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()), "worker: nobody there");
}

TEST(ConnectRetrierTest, OneOfSeveralSufficesAndTheOthersComeLater) {
  std::atomic<int> here = 0, late = 0, told = 0;
  ConnectRetrier retrier;
  retrier.Start("here", /*necessary=*/false, AtAttempt(1, &here), Ignore);
  retrier.Start("late", /*necessary=*/false, AtAttempt(3, &late),
                [&](const absl::Status& why, bool permanent) {
                  EXPECT_EQ(std::string(why.message()), "nobody there");
                  EXPECT_FALSE(permanent);
                  ++told;
                });
  EXPECT_TRUE(retrier.Wait({.at_least = 1, .cancelled = nullptr}).ok());
  EXPECT_EQ(told, 1) << "before Wait returns";
  EXPECT_TRUE(Eventually([&] { return late == 3; }));
  EXPECT_EQ(here, 1);
  EXPECT_EQ(told, 1);
}

TEST(ConnectRetrierTest, NoneUntilTheDeadlineIsAnErrorThatNamesAll) {
  std::atomic<int> a = 0, b = 0;
  ConnectRetrier retrier;
  retrier.Start("a", /*necessary=*/false, AtAttempt(1000, &a), Ignore);
  retrier.Start("b", /*necessary=*/false, AtAttempt(1000, &b), Ignore);
  const absl::Status late =
      retrier.Wait({.at_least = 1, .deadline = milliseconds(100), .cancelled = nullptr});
  EXPECT_EQ(std::string(late.message()), "a: nobody there\nb: nobody there");
  EXPECT_EQ(retrier.Wait({.at_least = 1, .cancelled = [] { return true; }}).code(),
            absl::StatusCode::kCancelled);
  EXPECT_TRUE(retrier.Wait({.at_least = 0, .cancelled = nullptr}).ok());
}

TEST(ConnectRetrierTest, WhatIsRefusedIsNotTriedAgain) {
  std::atomic<int> attempts = 0, told = 0;
  ConnectRetrier retrier;
  retrier.Start(
      "worker", /*necessary=*/false,
      [&](const ConnectRetrier::Stopped&) {
        ++attempts;
        return absl::PermissionDeniedError("another host key");
      },
      [&](const absl::Status&, bool permanent) { told += permanent; });
  const absl::Status status =
      retrier.Wait({.at_least = 1, .cancelled = nullptr});  // it does not wait until the deadline
  EXPECT_EQ(status, absl::PermissionDeniedError("worker: another host key"));
  EXPECT_EQ(attempts, 1);
  EXPECT_EQ(told, 1);
}

TEST(ConnectRetrierTest, AForgottenNameCanBeUsedAgain) {
  std::atomic<int> attempts = 0;
  ConnectRetrier retrier;
  retrier.Start(
      "worker", /*necessary=*/false,
      [](const ConnectRetrier::Stopped& stopped) {
        EXPECT_TRUE(Eventually(stopped));
        return absl::CancelledError("stopped");
      },
      [](const absl::Status&, bool) { ADD_FAILURE() << "nobody wants to know"; });
  retrier.Forget("worker");
  retrier.Forget("nobody");
  retrier.AwaitForgotten();
  retrier.Start("worker", /*necessary=*/true, AtAttempt(1, &attempts), Ignore);
  EXPECT_TRUE(retrier.Wait({}).ok());
}

TEST(ConnectRetrierTest, AClusterOpensWithTheWorkersThatLive) {
  absl::StatusOr<TempDir> dir = TempDir::Make("open");
  ASSERT_TRUE(dir.ok()) << dir.status();
  const auto serve = [&](const std::string& name) {
    ChildOptions child;
    child.argv = {BinDir() + "/test_service", "--listen",
                  absl::StrCat("unix:", dir->path(), "/", name, ".sock")};
    return ChildProcess::Start(child);
  };
  const auto here = serve("here");
  ASSERT_TRUE(here.ok()) << here.status();
  ASSERT_TRUE(Eventually([&] { return access((dir->path() + "/here.sock").c_str(), F_OK) == 0; }));
  std::atomic<int> lost = 0, ready = 0;
  ClusterOptions options;
  options.log_dir = dir->path() + "/logs";
  options.with_trainer = false;
  options.workers_may_be_missing = true;
  options.on_event = [&](const ServiceEvent& event) {
    if (event.state == ServiceEvent::State::kReady) ++ready;
    if (event.state != ServiceEvent::State::kLost) return;
    EXPECT_THAT(event.service, testing::EndsWith("/late.sock"));
    EXPECT_THAT(event.detail, StartsWith("not reachable, tried again until it is: "));
    ++lost;
  };
  options.worker_list.emplace();
  for (const char* name : {"here", "late"}) {
    options.worker_list->add_workers()->set_socket(absl::StrCat(dir->path(), "/", name, ".sock"));
  }
  const auto cluster = OpenCluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ((*cluster)->workers().size(), 2u);
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(ready, 1);
  const auto late = serve("late");
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_TRUE(Eventually([&] { return ready == 2; }));
  EXPECT_EQ(lost, 1);
}

}  // namespace
}  // namespace whetstone
