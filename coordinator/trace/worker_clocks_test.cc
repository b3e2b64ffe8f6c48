#include "coordinator/trace/worker_clocks.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

v1::Verdict MeasuredBetween(int64_t begin_us, int64_t reached_us) {
  v1::Verdict verdict;
  verdict.set_worker("cpu01");
  verdict.mutable_stage_times()->set_check_us(begin_us);
  verdict.mutable_stage_times()->set_reached_us(reached_us);
  return verdict;
}

TEST(WorkerClocksTest, AClockThatMayBeRightIsLeftAlone) {
  WorkerClocks clocks;
  clocks.Add(MeasuredBetween(110, 190), 100, 200);
  EXPECT_EQ(clocks.OffsetUs("cpu01"), 0);
  EXPECT_EQ(clocks.OffsetUs("cpu02"), 0);
}

TEST(WorkerClocksTest, OneThatIsAheadOrBehindIsSetRightByTheLeastThatWillDo) {
  WorkerClocks ahead;
  ahead.Add(MeasuredBetween(1110, 1190), 100, 200);
  EXPECT_EQ(ahead.OffsetUs("cpu01"), -990);
  ahead.Add(MeasuredBetween(1210, 1299), 200, 300);
  EXPECT_EQ(ahead.OffsetUs("cpu01"), -999) << "the verdict that was here soonest tells most";
  WorkerClocks behind;
  behind.Add(MeasuredBetween(10, 90), 100, 200);
  EXPECT_EQ(behind.OffsetUs("cpu01"), 90);
  behind.Add(MeasuredBetween(20, 90), std::nullopt, 200);
  EXPECT_EQ(behind.OffsetUs("cpu01"), 90) << "nobody knows since when";
}

TEST(WorkerClocksTest, OneThatWasSetInBetweenReachesNoVerdictAfterItCame) {
  WorkerClocks clocks;
  clocks.Add(MeasuredBetween(10, 90), 100, 200);
  clocks.Add(MeasuredBetween(310, 350), 300, 360);
  EXPECT_EQ(clocks.OffsetUs("cpu01"), 10);
}

TEST(WorkerClocksTest, EarlierVersionsToldNoTimes) {
  WorkerClocks clocks;
  v1::Verdict verdict;
  verdict.set_worker("cpu01");
  clocks.Add(verdict, 100, 200);
  EXPECT_EQ(clocks.OffsetUs("cpu01"), 0);
}

}  // namespace
}  // namespace whetstone
