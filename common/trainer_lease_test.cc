#include "common/trainer_lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/trainer_gate.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const TrainerHolder kA{"a-1", 11}, kLaterA{"a-1", 12}, kB{"b-2", 21}, kNobody{};

// `holder` has loaded its policy at `now`.
TrainerLease HeldBy(const TrainerHolder& holder, double now = 0) {
  TrainerLease lease;
  EXPECT_TRUE(lease.Claim(holder, /*steal=*/false, now).ok());
  lease.Settle(holder, /*loaded=*/true, now);
  return lease;
}

std::string Refused(const absl::Status& status, absl::StatusCode code) {
  EXPECT_EQ(status.code(), code) << status;
  return std::string(status.message());
}

TEST(TrainerLeaseTest, OneThatIsAliveKeepsTheTrainer) {
  TrainerLease lease = HeldBy(kA);
  EXPECT_THAT(Refused(lease.Claim(kB, false, 3), absl::StatusCode::kFailedPrecondition),
              HasSubstr("campaign a-1, heard of 3 s ago"));
  lease.Hear(kA, /*release=*/false, 50);
  EXPECT_EQ(lease.HeldBy(109), "a-1");
  EXPECT_EQ(lease.HeldBy(110), "");
  lease.Hear(kA, /*release=*/false, 200);
  EXPECT_EQ(lease.HeldBy(201), "a-1") << "nobody took it meanwhile";
  ASSERT_TRUE(lease.Begin(kA, 210).ok());
  EXPECT_EQ(lease.HeldBy(5000), "a-1") << "a call runs";
  EXPECT_EQ(lease.HeardAgo(5000), 0);
  lease.End(kA, 5000);
  EXPECT_EQ(lease.HeldBy(5061), "");
  EXPECT_TRUE(lease.Claim(kB, false, 5061).ok());
}

TEST(TrainerLeaseTest, WhoeverLostItIsToldWhoHasIt) {
  TrainerLease lease = HeldBy(kA);
  EXPECT_TRUE(lease.Claim(kLaterA, /*steal=*/false, 1).ok()) << "it is the same campaign's";
  EXPECT_THAT(Refused(lease.Check(kA), absl::StatusCode::kAborted),
              AllOf(HasSubstr("another process of campaign a-1"), HasSubstr("end one of them")));
  EXPECT_TRUE(lease.Claim(kB, /*steal=*/true, 2).ok());
  EXPECT_EQ(Refused(lease.Begin(kLaterA, 2), absl::StatusCode::kAborted),
            "campaign b-2 has taken the trainer from campaign a-1; --steal takes it back");
  lease.Hear(kLaterA, /*release=*/true, 2);
  lease.End(kLaterA, 2);
  EXPECT_EQ(lease.HeldBy(1000), "b-2") << "its load still runs";
}

TEST(TrainerLeaseTest, AFailedLoadLeavesTheHolder) {
  TrainerLease lease = HeldBy(kA);
  ASSERT_TRUE(lease.Begin(kA, 5).ok());
  ASSERT_TRUE(lease.Claim(kB, /*steal=*/true, 6).ok());
  lease.Settle(kB, /*loaded=*/false, 7);
  EXPECT_TRUE(lease.Check(kA).ok());
  lease.End(kA, 8);
  EXPECT_EQ(lease.HeldBy(67), "a-1");
  EXPECT_EQ(lease.HeldBy(69), "");
}

TEST(TrainerLeaseTest, AFailedLoadDoesNotBringBackWhoGaveTheTrainerUpMeanwhile) {
  TrainerLease lease = HeldBy(kA);
  ASSERT_TRUE(lease.Claim(kB, /*steal=*/true, 1).ok());
  lease.Hear(kA, /*release=*/true, 2);
  EXPECT_EQ(lease.HeldBy(2), "b-2");
  lease.Settle(kB, /*loaded=*/false, 3);
  EXPECT_EQ(lease.HeldBy(3), "");
}

TEST(TrainerLeaseTest, WhatIsLoadedTellsWhoCanBeLeftWithTheTrainer) {
  TrainerLease lease = HeldBy(kA);
  ASSERT_TRUE(lease.Claim(kB, /*steal=*/true, 1).ok());
  ASSERT_TRUE(lease.Claim(kLaterA, /*steal=*/true, 2).ok());
  lease.Settle(kB, /*loaded=*/false, 3);
  lease.Settle(kLaterA, /*loaded=*/false, 4);
  EXPECT_TRUE(lease.Check(kA).ok()) << "its policy is still there";
  ASSERT_TRUE(lease.Claim(kB, /*steal=*/true, 5).ok());
  ASSERT_TRUE(lease.Claim(kLaterA, /*steal=*/true, 6).ok());
  lease.Settle(kB, /*loaded=*/true, 7);
  lease.Settle(kLaterA, /*loaded=*/false, 8);
  EXPECT_TRUE(lease.Check(kB).ok()) << "b-2's load came through before";
}

TEST(TrainerLeaseTest, NobodyIsNotAnybody) {
  TrainerLease lease;
  EXPECT_TRUE(lease.Begin(kNobody, 0).ok()) << "nothing is loaded, which the call will say";
  EXPECT_THAT(Refused(lease.Check(kA), absl::StatusCode::kFailedPrecondition),
              HasSubstr("nobody does"));
  lease = HeldBy(kA);
  Refused(lease.Check(kNobody), absl::StatusCode::kFailedPrecondition);
  Refused(lease.Claim(kNobody, false, 1), absl::StatusCode::kFailedPrecondition);
  lease.Hear(kA, /*release=*/true, 2);
  EXPECT_EQ(lease.HeldBy(2), "");
  Refused(lease.Check(kA), absl::StatusCode::kFailedPrecondition);
  Refused(lease.Check(kNobody), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(HeldBy(kB, 3).Check(kB).ok());
  lease = HeldBy(kNobody);
  EXPECT_TRUE(lease.Check(kNobody).ok());
  EXPECT_TRUE(lease.Claim(kA, false, 1).ok());
}

class StillClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() const override { return std::chrono::seconds(now_s_); }
  int now_s_ = 7;
};

TEST(TrainerGateTest, EveryLoadHasAnEpochOfItsOwn) {
  const StillClock clock;
  TrainerGate gate(&clock);
  const auto load = [&](const TrainerHolder& by) {
    EXPECT_TRUE(gate.Check(by).ok());
    gate.Loaded(by);
    return absl::OkStatus();
  };
  const absl::StatusOr<TrainerHolder> first = gate.Load("a-1", false, load);
  const absl::StatusOr<TrainerHolder> second = gate.Load("a-1", false, load);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->epoch, second->epoch);
  EXPECT_EQ(gate.Begin(*first).status().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(gate.Begin(*second).ok());
  EXPECT_EQ(gate.holding().campaign_id, "a-1");
  gate.Hear(*second, /*release=*/true);
  EXPECT_EQ(gate.holding().campaign_id, "");
  const absl::StatusOr<TrainerHolder> nobody = gate.Load("", false, load);
  ASSERT_TRUE(nobody.ok());
  EXPECT_EQ(*nobody, kNobody);
}

TEST(TrainerGateTest, WhosePolicyIsThereHoldsItHoweverLateItsLoadReturns) {
  const StillClock clock;
  TrainerGate gate(&clock);
  const auto load = [&](const TrainerHolder& by) {
    gate.Loaded(by);
    return absl::OkStatus();
  };
  ASSERT_TRUE(gate.Load("o-0", false, load).ok());
  const absl::StatusOr<TrainerHolder> a = gate.Load("a-1", true, [&](const TrainerHolder& by) {
    gate.Loaded(by);
    const auto missing = [](const TrainerHolder&) { return absl::NotFoundError("no such"); };
    EXPECT_FALSE(gate.Load("b-2", true, missing).ok());
    return absl::OkStatus();
  });
  ASSERT_TRUE(a.ok());
  EXPECT_TRUE(gate.Check(*a).ok());
  EXPECT_EQ(gate.holding().campaign_id, "a-1");
}

TEST(TrainerGateTest, ACallRunsAsLongAsItComputes) {
  StillClock clock;
  TrainerGate gate(&clock);
  const absl::StatusOr<TrainerHolder> a = gate.Load("a-1", false, [&](const TrainerHolder& by) {
    gate.Loaded(by);
    return absl::OkStatus();
  });
  ASSERT_TRUE(a.ok());
  std::shared_ptr<void> computing;
  {
    const absl::StatusOr<std::shared_ptr<void>> waiting = gate.Begin(*a);
    ASSERT_TRUE(waiting.ok());
    computing = *waiting;
  }
  clock.now_s_ += 1000;
  EXPECT_EQ(gate.holding().campaign_id, "a-1");
  EXPECT_EQ(gate.holding().heard_s, 0);
  computing.reset();
  clock.now_s_ += 61;
  EXPECT_EQ(gate.holding().campaign_id, "");
}

}  // namespace
}  // namespace whetstone
