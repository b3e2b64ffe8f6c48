#include "coordinator/campaign/dispatcher.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

Dispatcher Two(
    WorkerTraits a = {.slots = 2, .cpu_model = "A", .host_id = "", .shares_cores = false},
    WorkerTraits b = {.slots = 2, .cpu_model = "B", .host_id = "", .shares_cores = false}) {
  Dispatcher dispatcher(2);
  dispatcher.SetUp(0, a);
  dispatcher.SetUp(1, b);
  return dispatcher;
}

TEST(DispatcherTest, LeastLoadedFirstAndNeverBeyondTheSlots) {
  Dispatcher d = Two();
  EXPECT_EQ(d.Pick({}, 0, nullptr), 0);
  d.Started(0);
  EXPECT_EQ(d.Pick({}, 0, nullptr), 1);
  d.Started(1);
  d.Started(0);
  d.Started(1);
  EXPECT_EQ(d.Pick({}, 0, nullptr), std::nullopt);
  d.Ended(1, true, 0);
  EXPECT_EQ(d.Pick({}, 0, nullptr), 1);
}

TEST(DispatcherTest, DownAndUnusableWorkersGetNothing) {
  Dispatcher d = Two();
  EXPECT_EQ(d.Pick({}, 0, [](int w) { return w == 1; }), 1);
  d.SetDown(1);
  EXPECT_EQ(d.Pick({}, 0, [](int w) { return w == 1; }), std::nullopt);
  d.SetGone(0);
  EXPECT_FALSE(d.all_gone());
  d.SetGone(1);
  EXPECT_TRUE(d.all_gone());
}

TEST(DispatcherTest, DrainingWorkersGetNothingAndHoldNobodyToTheirModel) {
  Dispatcher d = Two();
  d.Started(0);
  d.SetDraining(0);
  EXPECT_EQ(d.Pick({}, 0, nullptr), 1);
  WorkNeed need;
  need.cpu_model = "A";
  EXPECT_EQ(d.Pick(need, 0, nullptr), 1) << "the last of model A gets no more";
  d.Add();
  EXPECT_FALSE(d.up(2));
  d.SetUp(2, {.slots = 1, .cpu_model = "A", .host_id = "", .shares_cores = false});
  EXPECT_EQ(d.Pick(need, 0, nullptr), 2);
  d.Ended(0, true, 0);
  EXPECT_EQ(d.Pick(need, 0, nullptr), 2) << "idle, but leaving";
}

TEST(DispatcherTest, WhatMustBeAloneIsAlone) {
  Dispatcher d = Two();
  WorkNeed alone;
  alone.alone = true;
  d.Started(0);
  d.Started(1);
  EXPECT_EQ(d.Pick(alone, 0, nullptr), std::nullopt) << "nobody is idle";
  d.Cancelled(1);
  EXPECT_EQ(d.Pick(alone, 0, nullptr), 1);
  d.Started(1, /*alone=*/true);
  d.Started(0);
  EXPECT_EQ(d.Pick({}, 0, nullptr), std::nullopt) << "a slot is free, but not for company";
  d.Ended(1, true, 0);
  EXPECT_EQ(d.Pick({}, 0, nullptr), 1);
}

TEST(DispatcherTest, WhatIsCancelledSaysNothingAboutTheWorker) {
  Dispatcher d = Two();
  for (int i = 0; i < 2 * Dispatcher::kBreakerFailures; ++i) {
    d.Started(0);
    d.Cancelled(0);
  }
  EXPECT_FALSE(d.resting(0, 0));
}

TEST(DispatcherTest, NoTimingBesideAComputingTrainer) {
  Dispatcher d = Two({.slots = 1, .cpu_model = "A", .host_id = "", .shares_cores = true},
                     {.slots = 1, .cpu_model = "B", .host_id = "", .shares_cores = true});
  const auto pick = [&](bool timed, bool computes) {
    WorkNeed need;
    need.timed = timed;
    need.trainer_computes = computes;
    return d.Pick(need, 0, nullptr).has_value();
  };
  EXPECT_FALSE(pick(true, true));
  EXPECT_TRUE(pick(false, true)) << "checking may run beside it";
  EXPECT_TRUE(pick(true, false));
}

TEST(DispatcherTest, GroupsStayOnOneCpuModelWhileItIsUp) {
  Dispatcher d = Two();
  WorkNeed need;
  need.cpu_model = "B";
  EXPECT_EQ(d.Pick(need, 0, nullptr), 1);
  d.Started(1);
  d.Started(1);
  EXPECT_EQ(d.Pick(need, 0, nullptr), std::nullopt) << "waits for a free slot of that model";
  d.SetDown(1);
  EXPECT_EQ(d.Pick(need, 0, nullptr), 0) << "better another model than never";
}

TEST(DispatcherTest, BreakerOpensRestsAndTriesOnce) {
  Dispatcher d(1);
  d.SetUp(0, {.slots = 2, .cpu_model = "", .host_id = "", .shares_cores = false});
  for (int i = 0; i < Dispatcher::kBreakerFailures; ++i) {
    EXPECT_TRUE(d.Pick({}, 10, nullptr).has_value()) << i;
    d.Started(0);
    d.Ended(0, false, 10);
  }
  EXPECT_EQ(d.Pick({}, 11.9, nullptr), std::nullopt) << "resting for two seconds";
  EXPECT_EQ(d.Pick({}, 12, nullptr), 0);
  d.Started(0);
  EXPECT_EQ(d.Pick({}, 12, nullptr), std::nullopt) << "one call on trial";
  d.Ended(0, false, 12);
  EXPECT_EQ(d.Pick({}, 15.9, nullptr), std::nullopt) << "twice as long";
  d.Started(0);
  d.Ended(0, true, 16);
  d.Started(0);
  EXPECT_EQ(d.Pick({}, 16, nullptr), 0) << "closed again";
}

TEST(DispatcherTest, PrefersAndAvoids) {
  Dispatcher d = Two();
  WorkNeed need;
  need.prefer = 1;
  EXPECT_EQ(d.Pick(need, 0, nullptr), 1);
  need.avoid = 1;
  EXPECT_EQ(d.Pick(need, 0, nullptr), 0) << "avoiding weighs more";
  d.SetDown(0);
  EXPECT_EQ(d.Pick(need, 0, nullptr), 1) << "but not more than nothing at all";
}

}  // namespace
}  // namespace whetstone
