#include "cpu_bench_worker/service/waiting_callers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "common/eventually_testing.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::Not;

class WaitingCallersTest : public ::testing::Test {
 protected:
  std::vector<std::string> cancelled() {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }
  // True once candidates that are abandoned from now on have been looked at.
  bool ALookLater() {
    const std::string id = "probe/" + std::to_string(++probes_);
    const WaitingCallers::Caller probe(&callers_, id, [] { return true; });
    return Eventually([&] { return testing::Value(cancelled(), Contains(id)); });
  }

  std::mutex mutex_;
  std::vector<std::string> cancelled_;
  int probes_ = 0;
  WaitingCallers callers_{[this](const std::vector<std::string>& ids) {
                            const std::lock_guard lock(mutex_);
                            cancelled_.insert(cancelled_.end(), ids.begin(), ids.end());
                          },
                          milliseconds(100)};
};

TEST_F(WaitingCallersTest, WhatNobodyWaitsForIsCancelled) {
  std::atomic<bool> gone = false;
  const WaitingCallers::Caller stays(&callers_, "wanted", [] { return false; });
  const WaitingCallers::Caller leaves(&callers_, "abandoned", [&] { return gone.load(); });
  ASSERT_TRUE(ALookLater());
  EXPECT_THAT(cancelled(), Not(Contains("abandoned")));
  gone = true;
  EXPECT_TRUE(Eventually([&] { return testing::Value(cancelled(), Contains("abandoned")); }));
  EXPECT_THAT(cancelled(), Not(Contains("wanted")));
}

TEST_F(WaitingCallersTest, WhoComesBackFindsItsMeasurement) {
  const WaitingCallers::Caller broken(&callers_, "kept", [] { return true; });
  const WaitingCallers::Caller again(&callers_, "kept", [] { return false; });
  ASSERT_TRUE(ALookLater());
  ASSERT_TRUE(ALookLater());
  EXPECT_THAT(cancelled(), Not(Contains("kept")));
}

TEST_F(WaitingCallersTest, ACallThatHasEndedIsForgotten) {
  {
    const WaitingCallers::Caller ended(&callers_, "ended", [] { return true; });
  }
  ASSERT_TRUE(ALookLater());
  EXPECT_THAT(cancelled(), Not(Contains("ended")));
}

TEST_F(WaitingCallersTest, AMeasurementThatDidNotHearItIsToldAgain) {
  const WaitingCallers::Caller gone(&callers_, "deaf", [] { return true; });
  EXPECT_TRUE(Eventually([&] {
    const std::vector<std::string> all = cancelled();
    return std::count(all.begin(), all.end(), "deaf") >= 2;
  }));
}

}  // namespace
}  // namespace whetstone
